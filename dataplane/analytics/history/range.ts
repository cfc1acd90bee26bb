import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { DAY, HOUR } from './store.ts';

/** The maximum number of points of a series. */
const MAX_POINTS = 1_000;
/** A range up to this length is shown by the hour unless another step is requested. */
const SHORT = 3 * DAY;

/** A question about history: from `from` until before `to` (ms since 1970), both whole hours; `step` is the span of each point. */
export type RangeQuery = Span & {
  readonly step: typeof HOUR | typeof DAY;
  /** Whether days may be returned where hours are no longer kept, because no `step` was requested. */
  readonly orDays?: true;
  /** The range to compare with. */
  readonly previous: Span;
};
type Span = { readonly from: number; readonly to: number };

export const pointsOf = ({ from, to, step }: Omit<RangeQuery, 'previous'>): number => Math.ceil((to - from) / step);

/** The span of the same length right before. */
const spanBefore = (range: Omit<RangeQuery, 'previous'>): Span => {
  const length = pointsOf(range) * range.step;
  return { from: range.from - length, to: range.from };
};

/** Reads `from`, `to`, `step`, `previous_from` and `previous_to` of a query; the last 24 hours without them. `now` in ms since 1970. */
export function parseRange(query: ReadonlyMap<string, string>, now: number): Parsed<RangeQuery> {
  const to = parseTime('to', query.get('to'), Math.floor(now / HOUR) * HOUR + HOUR);
  if (!to.ok) return to;
  const from = parseTime('from', query.get('from'), to.value - DAY);
  if (!from.ok) return from;
  const begin = Math.floor(from.value / HOUR) * HOUR;
  const end = Math.ceil(to.value / HOUR) * HOUR;
  if (begin >= end) return refused('from must be before to');
  const step = parseStep(query.get('step'), end - begin);
  if (!step.ok) return step;
  const range = { from: begin, to: end, step: step.value };
  const previous = parsePrevious(query, range);
  if (!previous.ok) return previous;
  if (Math.max(pointsOf(range), pointsOf({ ...previous.value, step: step.value })) > MAX_POINTS)
    return refused(`a series has at most ${MAX_POINTS} points: choose ${step.value === HOUR ? 'step=day' : 'a shorter range'}`);
  const orDays = query.get('step') === undefined && step.value === HOUR;
  return accepted({ ...range, ...(orDays && { orDays }), previous: previous.value });
}

function parsePrevious(query: ReadonlyMap<string, string>, range: Omit<RangeQuery, 'previous'>): Parsed<Span> {
  const texts = [query.get('previous_from'), query.get('previous_to')];
  if (texts.every((text) => text === undefined)) return accepted(spanBefore(range));
  if (texts.includes(undefined)) return refused('previous_from and previous_to are given together');
  const from = parseTime('previous_from', texts[0], 0);
  if (!from.ok) return from;
  const to = parseTime('previous_to', texts[1], 0);
  if (!to.ok) return to;
  const span = { from: Math.floor(from.value / HOUR) * HOUR, to: Math.ceil(to.value / HOUR) * HOUR };
  return span.from < span.to ? accepted(span) : refused('previous_from is before previous_to');
}

function parseTime(name: string, given: string | undefined, otherwise: number): Parsed<number> {
  if (given === undefined) return accepted(otherwise);
  // In a query, the sign of an offset that is not escaped stands for a space (URL Standard, section 5.1).
  const text = given.replace(/(T.*) (\d\d:\d\d)$/, '$1+$2');
  const [, day] = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  if (day !== undefined && !isDay(day)) return refused(`${name}: the calendar has no ${day}`);
  const value = day === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(value) ? refused(`${name} is a date or a time, such as 2026-11-22 or 2026-11-22T13:00:00Z`) : accepted(value);
}

/** Whether the calendar has this day: `Date.parse` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  const time = Date.parse(day);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
}

function parseStep(text: string | undefined, length: number): Parsed<RangeQuery['step']> {
  if (text === undefined) return accepted(length <= SHORT ? HOUR : DAY);
  if (text === 'hour') return accepted(HOUR);
  if (text === 'day') return accepted(DAY);
  return refused('step is hour or day');
}
