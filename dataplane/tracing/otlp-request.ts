import type { Outcome } from './span-exporter.ts';

/** How long a request may take (ms). */
const TIMEOUT_MS = 10_000;
/** Statuses after which the same request may succeed later, by the specification of OTLP over HTTP. */
const RETRYABLE = new Set([429, 502, 503, 504]);
/** The maximum number of bytes read of a response. */
const MAX_ANSWER = 65_536;
/** The maximum length of a collector's message (characters). */
const MAX_REASON = 200;
/** The longest pause that a collector may ask for (ms). */
const LONGEST_PAUSE_MS = 60_000;

export type OtlpDestination = {
  /** The URL that spans are posted to. */
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
};

/** Posts a request of OTLP (ExportTraceServiceRequest) in its JSON mapping. Never throws. */
export async function postSpans({ url, headers }: OtlpDestination, userAgent: string, body: string): Promise<Outcome> {
  const fields = new Headers({ 'user-agent': userAgent, 'content-type': 'application/json' });
  // The operator's fields replace ours.
  for (const [name, value] of headers) fields.set(name, value);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: fields,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return outcomeOf(response, await beginningOf(response));
  } catch (error) {
    return { kind: 'retry', reason: reasonOf(error), afterMs: null };
  }
}

/** The beginning of the body. An answer that never ends must not fill the memory, nor keep the spans waiting. */
async function beginningOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes >= MAX_ANSWER) break;
  }
  return Buffer.concat(pieces).toString('utf8', 0, MAX_ANSWER);
}

function outcomeOf({ ok, status, headers }: Response, text: string): Outcome {
  if (ok) return delivered(text);
  const reason = `the collector answered ${status}${text === '' ? '' : `: ${shortened(text)}`}`;
  if (!RETRYABLE.has(status)) return { kind: 'refused', reason };
  return { kind: 'retry', reason, afterMs: pauseOf(headers) };
}

/** Retry-After is in seconds or a date (RFC 9110 10.2.3). A date is compared with the collector's own, whose clock may differ from ours. */
function pauseOf(headers: Headers): number | null {
  const value = headers.get('retry-after') ?? '';
  const isDate = value.endsWith(' GMT');
  const ms = isDate ? Date.parse(value) - Date.parse(headers.get('date') ?? '') : /^\d+$/.test(value) ? Number(value) * 1_000 : -1;
  return ms >= 0 ? Math.min(ms, LONGEST_PAUSE_MS) : null;
}

type Answer = { readonly partialSuccess?: { readonly rejectedSpans?: unknown; readonly errorMessage?: unknown } };

/** A collector may accept some spans and reject others. A response that can't be read counts as accepting all. */
function delivered(text: string): Outcome {
  let partial: Answer['partialSuccess'];
  try {
    partial = (JSON.parse(text) as Answer | null)?.partialSuccess;
  } catch {
    partial = undefined;
  }
  const rejected = countIn(partial?.rejectedSpans);
  const message = typeof partial?.errorMessage === 'string' ? partial.errorMessage : '';
  return { kind: 'delivered', rejected, reason: rejected === 0 ? '' : `the collector rejected spans: ${shortened(message)}` };
}

/** 64-bit integers are strings in the JSON mapping. */
function countIn(value: unknown): number {
  const count = typeof value === 'string' || typeof value === 'number' ? Number(value) : 0;
  return count > 0 ? Math.trunc(count) : 0;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1_000} s`;
  const { cause } = error;
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : error.message;
}

/** Without line breaks and other characters that control a terminal. */
const shortened = (text: string): string =>
  text
    .replace(/[\s\p{Cc}\p{Cf}]+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON);
