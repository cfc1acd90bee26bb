import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type * as Acme from 'acme-client';
import { NAME } from '../../../../shared/name.ts';
import { IssueError } from '../issue-error.ts';
import { ProblemError, problemOf } from './problem.ts';

export type AcmeLibrary = typeof Acme;

/** One HTTP exchange with the authority takes no longer (ms), and no answer is larger (bytes): chains have a few thousand. */
const REQUEST_MS = 20_000;
const MOST_BYTES = 1_048_576;

/**
 * The library is large and many never need it, so it is loaded with the first order. Retries are ours, not its own.
 * `rootPath` is a file with the roots that the authority's HTTPS is verified by, `roots` are they in PEM; neither: the system's. @throws IssueError.
 */
export async function loadAcmeLibrary(rootPath: string | null, roots: string | null): Promise<AcmeLibrary> {
  const library = (await import('acme-client')).default as AcmeLibrary;
  const { defaults } = library.axios;
  defaults.timeout = REQUEST_MS;
  defaults.maxContentLength = MOST_BYTES;
  defaults.beforeRedirect = requireHttps;
  defaults.headers.common['User-Agent'] = NAME;
  const ca = rootPath === null ? roots : readRoots(rootPath);
  defaults.httpsAgent = new Agent(ca === null ? {} : { ca });
  // Its own handling of answers sleeps and tries again, and breaks where there is no answer at all.
  const { response } = library.axios.interceptors;
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
      : refuse('there is no certificate in it (expected PEM, -----BEGIN CERTIFICATE-----)');
  } catch (error) {
    if (error instanceof IssueError) throw error;
    return refuse(`it can't be read (${error instanceof Error ? error.message : String(error)})`);
  }
}

type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data?: { readonly type?: string; readonly detail?: string };
};

/** RFC 8555 6.1: everything goes over HTTPS. @throws Error, which the library wraps. */
function requireHttps({ href = '' }: Readonly<Record<string, string>>): void {
  if (!href.startsWith('https:')) throw new Error(`${href} is not https`);
}

/**
 * The answer that an error carries: every status is one.
 * @throws the error itself, IssueError for a limit, and ProblemError for what the library does not see to.
 */
function answerOrThrow(error: unknown): unknown {
  const answer = error instanceof Error && 'response' in error ? (error.response as Answer | undefined) : undefined;
  if (answer === undefined) throw error;
  if (answer.status < 400) return answer;
  const detail = answer.data?.detail;
  const problem = problemOf(answer.data?.type);
  const retryAfter = retryAfterIn(answer.headers);
  if (answer.status === 429 || problem === 'rateLimited')
    throw new IssueError('limited', `the certificate authority has a limit: ${detail ?? 'too many requests'}`, retryAfter);
  // Whatever stands before it answers so while it is away.
  if (answer.status >= 500 && answer.status !== 501)
    throw new IssueError(
      'unreachable',
      `the certificate authority is not in order: it answers ${answer.status}${detail ? ` (${detail})` : ''}`,
      retryAfter,
    );
  // The library asks again with another nonce, five times (RFC 8555 6.5).
  if (problem === null || problem === 'badNonce') return answer;
  throw new ProblemError(problem, detail ?? problem);
}

/** Milliseconds, from seconds or a date (RFC 9110 10.2.3) by the authority's own clock; null where it does not say. */
function retryAfterIn({ date = '', 'retry-after': text = '' }: Answer['headers']): number | null {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.parse(date);
  return Number.isFinite(ms) ? Math.max(ms, 0) : null;
}
