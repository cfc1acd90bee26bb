import { parseHost } from '../../../shared/values/host.ts';
import type { AnswerFormat } from '../../analytics/history/keeper.ts';
import { parseRange, type RangeQuery } from '../../analytics/history/range.ts';
import type { AdminDependencies } from '../dependencies.ts';
import { ApiError } from '../http/errors.ts';
import { sendJson } from '../http/json.ts';
import type { Call } from './call.ts';
import { requireDomain } from './domain.ts';

const TYPES = { json: 'application/json', csv: 'text/csv; charset=utf-8; header=present' } as const;
const PARAMETERS: ReadonlySet<string> = new Set(['from', 'to', 'step', 'previous_from', 'previous_to', 'format']);

/** Answers the parameters `PARAMETERS` about one host, or of all. */
export async function getHistory({ response, query }: Omit<Call, 'segments'>, host: string, parts: AdminDependencies): Promise<void> {
  const unknown = [...query.keys()].find((name) => !PARAMETERS.has(name));
  if (unknown !== undefined) throw new ApiError('invalidQuery', `${unknown} is not one of ${[...PARAMETERS].join(', ')}`);
  const format = query.get('format') ?? 'json';
  if (format !== 'json' && format !== 'csv') throw new ApiError('invalidQuery', 'format is json or csv');
  const text = await historyText(host, readRange(query, parts), format, parts);
  response.writeHead(200, { 'content-type': TYPES[format], 'content-length': Buffer.byteLength(text), 'cache-control': 'no-store' });
  response.end(text);
}

/** The period, and the one that it is compared with. @throws ApiError */
export function readRange(query: URLSearchParams, { clock }: Pick<AdminDependencies, 'clock'>): RangeQuery {
  const range = parseRange(new Map(query), clock.now());
  if (!range.ok) throw new ApiError('invalidQuery', range.reason);
  return range.value;
}

/** The history of a host, or of all hosts, as text to send. @throws ApiError if there is none. */
export async function historyText(
  host: string,
  range: RangeQuery,
  format: AnswerFormat,
  { history }: Pick<AdminDependencies, 'history'>,
): Promise<string> {
  if (history === null) throw new ApiError('historyOff');
  const answer = await history.answer(host, range, format);
  switch (answer.kind) {
    case 'unavailable':
      throw new ApiError('historyUnavailable', answer.reason);
    case 'unknown':
      throw new ApiError('analyticsNotFound');
    case 'too fine':
      throw new ApiError('invalidQuery', `hours are kept since ${new Date(answer.since).toISOString()}: choose step=day`);
    case 'history':
      return answer.text;
  }
}

/** `DELETE /analytics/{domain}`. */
export async function forgetAnalytics(
  { response, segments: [segment = ''] }: Call,
  { analytics, history }: AdminDependencies,
): Promise<void> {
  const host = requireDomain(parseHost(segment));
  const answer = await history?.forget(host);
  if (answer?.kind === 'unavailable') throw new ApiError('historyUnavailable', answer.reason);
  const known = analytics.forget(host);
  if (!known && answer?.kind !== 'history') throw new ApiError('analyticsNotFound');
  sendJson(response, 200, { deleted: host });
}
