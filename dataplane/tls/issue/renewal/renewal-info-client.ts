import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { z } from 'zod';
import { NAME } from '../../../../shared/name.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Window } from './renewal-time.ts';

/** One answer takes no longer (ms), and is no larger (bytes). */
const ANSWER_MS = 10_000;
const MOST_BYTES = 65_536;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Where an authority does not say when to ask again (RFC 9773 4.3.1 names these). */
const USUALLY_MS = DAY_MS / 4;
/** How long a directory is believed; one that could not be read is asked for again sooner. */
const BELIEVED_MS = DAY_MS;

/** What an authority advises about one certificate. */
export type Advice = {
  readonly window: Window;
  /** Where it says why. */
  readonly explanation: string | null;
  /** Milliseconds until it may be asked again: a minute to a day (RFC 9773 4.3.2). */
  readonly againMs: number;
};

/** No advice this time; `againMs` is how long the authority asks to be left alone, 0 where it doesn't say. */
export class NoAdviceError extends Error {
  readonly againMs: number;

  constructor(message: string, againMs: number) {
    super(message);
    this.againMs = againMs;
  }
}

const directorySchema = z.object({ renewalInfo: z.url({ protocol: /^https?$/ }).optional() });
const moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const adviceSchema = z.object({
  suggestedWindow: z.object({ start: moment, end: moment }),
  explanationURL: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .catch(undefined),
});

/** The authority whose directory this is, and the roots that its own HTTPS is verified by, in a file or in PEM; neither: the system's usual ones. */
export type Whom = { readonly directory: string; readonly rootPath: string | null; readonly roots?: string | null };

/** Where renewals are asked about, and until when (monotonic ms) that is believed. */
type Found = { readonly url: Promise<string | null>; readonly agent: https.Agent; until: number };

/** Asks an authority when certificates should be renewed (RFC 9773). Nothing is signed, and no account is needed. */
export class RenewalInformation {
  private readonly whom: Whom;
  private readonly clock: Clock;
  private found: Found | null = null;

  constructor(whom: Whom, clock: Clock) {
    this.whom = whom;
    this.clock = clock;
  }

  /** `id`: what it calls the certificate. null: this authority gives no advice. @throws Error in words, NoAdviceError where it answers with an error. */
  async ask(id: string): Promise<Advice | null> {
    const found = this.resource();
    const { url, agent } = found;
    const base = await url;
    if (base === null) return null;
    try {
      const answer = await this.get(`${base.replace(/\/$/, '')}/${id}`, agent);
      return { ...adviceIn(answer.text), againMs: askAgainIn(answer.retryAfter, this.clock.now()) };
    } catch (error) {
      this.doubt(found);
      throw error;
    }
  }

  /** Where renewals are asked about; looked up once for all. */
  private resource(): Found {
    const now = this.clock.monotonic();
    if (this.found !== null && now < this.found.until) return this.found;
    const { directory, rootPath, roots = null } = this.whom;
    const ca = rootPath === null ? roots : readFileSync(rootPath);
    const agent = new https.Agent({ keepAlive: true, timeout: ANSWER_MS, ...(ca !== null && { ca }) });
    const url = this.get(directory, agent).then(({ text }) => directorySchema.parse(JSON.parse(text)).renewalInfo ?? null);
    const found: Found = { url, agent, until: now + BELIEVED_MS };
    url.catch(() => this.doubt(found));
    this.found = found;
    return found;
  }

  /** What did not lead to an answer is looked up again soon: where to ask, and by which roots. */
  private doubt(found: Found): void {
    found.until = Math.min(found.until, this.clock.monotonic() + MINUTE_MS);
  }

  /** @throws NoAdviceError for anything but 200. */
  private get(url: string, agent: https.Agent): Promise<{ readonly text: string; readonly retryAfter: string | null }> {
    return new Promise((resolve, reject) => {
      const secure = url.startsWith('https:');
      const headers = { 'user-agent': NAME, accept: 'application/json' };
      const request = (secure ? https : http).get(url, { headers, ...(secure && { agent }) }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          if (text.length > MOST_BYTES) request.destroy(new Error(`${url} answers more than ${MOST_BYTES} bytes`));
        });
        answer.on('end', () => {
          const retryAfter = answer.headers['retry-after'] ?? null;
          if (answer.statusCode === 200) return resolve({ text, retryAfter });
          const againMs = retryAfter === null ? 0 : askAgainIn(retryAfter, this.clock.now());
          reject(new NoAdviceError(`${url} answers ${answer.statusCode}`, againMs));
        });
        answer.on('error', reject);
      });
      const cancel = this.clock.after(ANSWER_MS, () => request.destroy(new Error(`${url} has not answered for ${ANSWER_MS / 1_000} s`)));
      request.on('error', reject).on('close', cancel);
    });
  }
}

/** @throws Error. */
function adviceIn(text: string): Omit<Advice, 'againMs'> {
  const { suggestedWindow, explanationURL } = adviceSchema.parse(JSON.parse(text));
  return { window: suggestedWindow, explanation: explanationURL ?? null };
}

/** Seconds or a date (RFC 9110 10.2.3), within reason. */
function askAgainIn(retryAfter: string | null, now: number): number {
  const ms = retryAfter === null ? Number.NaN : /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now;
  return Number.isNaN(ms) ? USUALLY_MS : Math.min(Math.max(ms, MINUTE_MS), DAY_MS);
}
