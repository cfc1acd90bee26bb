import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type * as Acme from 'acme-client';
import { NAME } from '../../../../shared/name.ts';
import { IssueError } from '../issue-error.ts';
import { ProblemError, problemOf } from './problem.ts';

export type AcmeLibrary = typeof Acme;

/** Limits of one HTTP exchange with the authority: its duration (ms) and the response body (bytes); chains have a few thousand. */
const REQUEST_MS = 20_000;
const MAX_BYTES = 1_048_576;
/** Connections to the authority at a time. More requests than that wait, however many its responses lead to. */
const MAX_CONNECTIONS = 20;

/**
 * Loads the library with the first order, since it is large and often not needed. We retry; the library does not. The authority's HTTPS is
 * verified with the roots in the file `rootPath`, else with `roots` (PEM), else with the system's. @throws IssueError.
 */
export async function loadAcmeLibrary(rootPath: string | null, roots: string | null, requestMs = REQUEST_MS): Promise<AcmeLibrary> {
  const library = (await import('acme-client')).default as AcmeLibrary;
  const { defaults } = library.axios;
  defaults.maxContentLength = MAX_BYTES;
  defaults.beforeRedirect = requireHttps;
  defaults.headers.common['User-Agent'] = NAME;
  const ca = rootPath === null ? roots : readRoots(rootPath);
  defaults.httpsAgent = new Agent({ maxSockets: MAX_CONNECTIONS, ...(ca !== null && { ca }) });
  // The library's own interceptors sleep and retry, and crash when there is no response at all.
  const { request, response } = library.axios.interceptors;
  request.clear();
  request.use((config) => {
    const { url = '' } = config;
    if (!isHttps(url)) throw new IssueError('refused', `the certificate authority refers to ${url}, which is not https`);
    // Every response is passed to the other one. The client's `timeout` would restart with each byte of a response.
    return Object.assign(config, { validateStatus: () => false, signal: AbortSignal.timeout(requestMs) });
  });
  response.clear();
  response.use(null, (error: unknown) => answerOrThrow(error));
  return library;
}

function readRoots(path: string): string {
  const refuse = (reason: string): never => {
    throw new IssueError('local', `--acme-ca-root: ${path}: ${reason}`);
  };
  try {
    const text = readFileSync(path, 'utf8');
    return text.includes('-----BEGIN CERTIFICATE-----')
      ? text
      : refuse('it contains no certificate (expected PEM, -----BEGIN CERTIFICATE-----)');
  } catch (error) {
    if (error instanceof IssueError) throw error;
    return refuse(`it can't be read (${error instanceof Error ? error.message : String(error)})`);
  }
}

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data?: { readonly type?: string; readonly detail?: string; readonly instance?: string };
};

/** RFC 8555 6.1: everything goes over HTTPS. */
const isHttps = (url: string): boolean => /^https:/i.test(url);

/** The same for a redirect. @throws Error, which the library wraps. */
function requireHttps({ href = '' }: Readonly<Record<string, string>>): void {
  if (!isHttps(href)) throw new Error(`${href} is not https`);
}

/**
 * The response that an error carries, of any status.
 * @throws the error itself without a response, IssueError for a rate limit or an outage, ProblemError for what the library does not handle.
 */
function answerOrThrow(error: unknown): unknown {
  const answer = error instanceof Error && 'response' in error ? (error.response as Answer | undefined) : undefined;
  if (answer === undefined) throw error;
  if (answer.status < 400) return answer;
  const detail = answer.data?.detail;
  const problem = problemOf(answer.data?.type);
  const retryAfter = retryAfterIn(answer.headers);
  if (answer.status === 429 || problem === 'rateLimited')
    throw new IssueError('limited', `the certificate authority has a rate limit: ${detail ?? 'too many requests'}`, retryAfter);
  // A load balancer in front of the authority answers like this while it is down.
  if (answer.status >= 500 && answer.status !== 501)
    throw new IssueError(
      'unreachable',
      `the certificate authority is not working: it answers ${answer.status}${detail ? ` (${detail})` : ''}`,
      retryAfter,
    );
  // The library would report it with an empty message: a firewall in front of the authority answers like this.
  if (!answer.data) return { ...answer, data: { detail: `the certificate authority answers ${answer.status} and no more` } };
  // The library retries with a fresh nonce, up to five times (RFC 8555 6.5).
  if (problem === null || problem === 'badNonce') return answer;
  throw new ProblemError(problem, detail ?? problem, answer.data?.instance);
}

/** Milliseconds from Retry-After, seconds or a date (RFC 9110 10.2.3) relative to the authority's own clock; null if absent. */
function retryAfterIn({ date = '', 'retry-after': text = '' }: Answer['headers']): number | null {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.parse(date);
  return Number.isFinite(ms) ? Math.max(ms, 0) : null;
}
