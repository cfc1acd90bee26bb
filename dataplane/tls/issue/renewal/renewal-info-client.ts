import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import { z } from 'zod';
import { NAME } from '../../../../shared/name.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { RenewalWindow } from './renewal-time.ts';

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
export type RenewalInfo = {
  readonly window: RenewalWindow;
  /** Where it says why. */
  readonly explanation: string | null;
  /** Milliseconds until it may be asked again: a minute to a day (RFC 9773 4.3.2). */
  readonly retryAfterMs: number;
};

/** No advice this time; `retryAfterMs` is how long the authority asks to be left alone, 0 where it doesn't say. */
export class RenewalInfoError extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

const directorySchema = z.object({ renewalInfo: z.url({ protocol: /^https?$/ }).optional() });
const moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const renewalInfoSchema = z.object({
  suggestedWindow: z.object({ start: moment, end: moment }),
  explanationURL: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional()
    .catch(undefined),
});

/** The authority whose directory this is, and the roots that its own HTTPS is verified by, in a file or in PEM; neither: the system's usual ones. */
export type AcmeServer = { readonly directory: string; readonly rootPath: string | null; readonly roots?: string | null };

/** Where renewals are asked about, and until when (monotonic ms) that is believed. */
type Endpoint = { readonly url: Promise<string | null>; readonly agent: https.Agent; until: number };

/** Asks an authority when certificates should be renewed (RFC 9773). Nothing is signed, and no account is needed. */
export class RenewalInfoClient {
  private readonly server: AcmeServer;
  private readonly clock: Clock;
  private endpoint: Endpoint | null = null;

  constructor(whom: AcmeServer, clock: Clock) {
    this.server = whom;
    this.clock = clock;
  }

  /** `id`: what it calls the certificate. null: this authority gives no advice. @throws Error in words, NoAdviceError where it answers with an error. */
  async fetch(id: string): Promise<RenewalInfo | null> {
    const found = this.findEndpoint();
    const { url, agent } = found;
    const base = await url;
    if (base === null) return null;
    try {
      const answer = await this.get(`${base.replace(/\/$/, '')}/${id}`, agent);
      return { ...parseRenewalInfo(answer.text), retryAfterMs: parseRetryAfter(answer.retryAfter, this.clock.now()) };
    } catch (error) {
      this.expireSoon(found);
      throw error;
    }
  }

  /** Where renewals are asked about; looked up once for all. */
  private findEndpoint(): Endpoint {
    const now = this.clock.monotonic();
    if (this.endpoint !== null && now < this.endpoint.until) return this.endpoint;
    const { directory, rootPath, roots = null } = this.server;
    const ca = rootPath === null ? roots : readFileSync(rootPath);
    const agent = new https.Agent({ keepAlive: true, timeout: ANSWER_MS, ...(ca !== null && { ca }) });
    const url = this.get(directory, agent).then(({ text }) => directorySchema.parse(JSON.parse(text)).renewalInfo ?? null);
    const found: Endpoint = { url, agent, until: now + BELIEVED_MS };
    url.catch(() => this.expireSoon(found));
    this.endpoint = found;
    return found;
  }

  /** What did not lead to an answer is looked up again soon: where to ask, and by which roots. */
  private expireSoon(found: Endpoint): void {
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
          const retryAfterMs = retryAfter === null ? 0 : parseRetryAfter(retryAfter, this.clock.now());
          reject(new RenewalInfoError(`${url} answers ${answer.statusCode}`, retryAfterMs));
        });
        answer.on('error', reject);
      });
      const cancel = this.clock.after(ANSWER_MS, () => request.destroy(new Error(`${url} has not answered for ${ANSWER_MS / 1_000} s`)));
      request.on('error', reject).on('close', cancel);
    });
  }
}

/** @throws Error. */
function parseRenewalInfo(text: string): Omit<RenewalInfo, 'retryAfterMs'> {
  const { suggestedWindow, explanationURL } = renewalInfoSchema.parse(JSON.parse(text));
  return { window: suggestedWindow, explanation: explanationURL ?? null };
}

/** Seconds or a date (RFC 9110 10.2.3), within reason. */
function parseRetryAfter(retryAfter: string | null, now: number): number {
  const ms = retryAfter === null ? Number.NaN : /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now;
  return Number.isNaN(ms) ? USUALLY_MS : Math.min(Math.max(ms, MINUTE_MS), DAY_MS);
}
