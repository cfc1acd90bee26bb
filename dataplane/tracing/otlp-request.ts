import type { Outcome } from './span-exporter.ts';

/** How long a request may take (ms). */
const TIMEOUT_MS = 10_000;
/** Statuses after which the same request may succeed later, by the specification of OTLP over HTTP. */
const RETRYABLE = new Set([429, 502, 503, 504]);
/** Most characters of what a collector says. */
const MOST_REASON = 200;
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
    return outcomeOf(response, await response.text());
  } catch (error) {
    return { kind: 'retry', reason: reasonOf(error), afterMs: null };
  }
}

function outcomeOf({ ok, status, headers }: Response, text: string): Outcome {
  if (ok) return delivered(text);
  const reason = `the collector answered ${status}${text === '' ? '' : `: ${shortened(text)}`}`;
  if (!RETRYABLE.has(status)) return { kind: 'refused', reason };
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return { kind: 'retry', reason, afterMs: seconds >= 0 ? Math.min(seconds * 1_000, LONGEST_PAUSE_MS) : null };
}

type Answer = { readonly partialSuccess?: { readonly rejectedSpans?: string | number; readonly errorMessage?: string } };

/** A collector may accept some spans and reject others. An answer that says nothing readable accepts all. */
function delivered(text: string): Outcome {
  let partial: Answer['partialSuccess'];
  try {
    partial = (JSON.parse(text) as Answer | null)?.partialSuccess;
  } catch {
    partial = undefined;
  }
  const rejected = Number(partial?.rejectedSpans ?? 0) || 0;
  return {
    kind: 'delivered',
    rejected,
    reason: rejected === 0 ? '' : `the collector rejected spans: ${shortened(`${partial?.errorMessage ?? ''}`)}`,
  };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1_000} s`;
  const { cause } = error;
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : error.message;
}

const shortened = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, MOST_REASON);
