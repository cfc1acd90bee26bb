import { readFileSync } from 'node:fs';
import * as https from 'node:https';
import * as z from 'zod';
import { NAME } from '../../../../shared/name.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { get } from '../../../../shared/runtime/http/node-http.ts';
import type { RenewalWindow } from './renewal-time.ts';

/** Limits of one response: its duration (ms) and size (bytes). */
const ANSWER_MS = 10_000;
const MAX_BYTES = 65_536;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Poll interval without Retry-After (RFC 9773 4.3.1). */
const USUALLY_MS = DAY_MS / 4;
/** How long a directory is cached; after a failure it is fetched again sooner. */
const BELIEVED_MS = DAY_MS;

/** An authority's renewal information for one certificate. */
export type RenewalInfo = {
  readonly window: RenewalWindow;
  /** A page that explains it. */
  readonly explanation: string | null;
  /** Milliseconds until the next poll: a minute to a day (RFC 9773 4.3.2). */
  readonly retryAfterMs: number;
};

/** The authority answered with an error; `retryAfterMs` is from its Retry-After, 0 without one. */
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

/** An authority's directory URL and the roots that verify its HTTPS, as a file or PEM; neither: the system's. */
export type AcmeServer = { readonly directory: string; readonly rootPath: string | null; readonly roots?: string | null };

/** The authority's renewalInfo URL, cached until `until` (monotonic ms). */
type Endpoint = { readonly url: Promise<string | null>; readonly agent: https.Agent; until: number };

/** Fetches renewal information from an authority (RFC 9773). Requests are unsigned and need no account. */
export class RenewalInfoClient {
  private readonly server: AcmeServer;
  private readonly clock: Clock;
  private endpoint: Endpoint | null = null;

  constructor(server: AcmeServer, clock: Clock) {
    this.server = server;
    this.clock = clock;
  }

  /** `id` is the CertID. null: this authority does not support ARI. @throws Error, or RenewalInfoError for an error response. */
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

  /** The endpoint, looked up once for all certificates. */
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

  /** After a failure the URL and the roots are read again soon. */
  private expireSoon(found: Endpoint): void {
    found.until = Math.min(found.until, this.clock.monotonic() + MINUTE_MS);
  }

  /** @throws RenewalInfoError for any status other than 200. */
  private get(url: string, agent: https.Agent): Promise<{ readonly text: string; readonly retryAfter: string | null }> {
    return new Promise((resolve, reject) => {
      const secure = url.startsWith('https:');
      const headers = { 'user-agent': NAME, accept: 'application/json' };
      const request = (secure ? https.get : get)(url, { headers, ...(secure && { agent }) }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          if (text.length > MAX_BYTES) request.destroy(new Error(`${url} returns more than ${MAX_BYTES} bytes`));
        });
        answer.on('end', () => {
          const retryAfter = answer.headers['retry-after'] ?? null;
          if (answer.statusCode === 200) return resolve({ text, retryAfter });
          const retryAfterMs = retryAfter === null ? 0 : parseRetryAfter(retryAfter, this.clock.now());
          reject(new RenewalInfoError(`${url} returns ${answer.statusCode}`, retryAfterMs));
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

/** Parses seconds or a date (RFC 9110 10.2.3) and clamps it to a sensible range. */
function parseRetryAfter(retryAfter: string | null, now: number): number {
  const ms = retryAfter === null ? Number.NaN : /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - now;
  return Number.isNaN(ms) ? USUALLY_MS : Math.min(Math.max(ms, MINUTE_MS), DAY_MS);
}
