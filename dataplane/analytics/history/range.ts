import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { DAY, HOUR } from './store.ts';

/** Most points of a series. */
const MAX_POINTS = 1_000;
/** A range up to this length is shown by the hour unless something else is asked for. */
const SHORT = 3 * DAY;

/** A question about history: from `from` until before `to` (ms since 1970), both whole hours; `step` is the span of each point. */
export type Range = { readonly from: number; readonly to: number; readonly step: typeof HOUR | typeof DAY };

export const pointsOf = ({ from, to, step }: Range): number => Math.ceil((to - from) / step);

/** The range of the same length right before. */
export const rangeBefore = (range: Range): Range => {
  const length = pointsOf(range) * range.step;
  return { ...range, from: range.from - length, to: range.from };
};

/** Reads `from`, `to` and `step` of a query; the last 24 hours without them. `now` in ms since 1970. */
export function parseRange(query: ReadonlyMap<string, string>, now: number): Parsed<Range> {
  const to = parseTime('to', query.get('to'), Math.floor(now / HOUR) * HOUR + HOUR);
  if (!to.ok) return to;
  const from = parseTime('from', query.get('from'), to.value - DAY);
  if (!from.ok) return from;
  const begin = Math.floor(from.value / HOUR) * HOUR;
  const end = Math.ceil(to.value / HOUR) * HOUR;
  if (begin >= end) return refused('from is before to');
  const step = parseStep(query.get('step'), end - begin);
  if (!step.ok) return step;
  const range = { from: begin, to: end, step: step.value };
  if (pointsOf(range) > MAX_POINTS)
    return refused(`a series has at most ${MAX_POINTS} points: choose ${step.value === HOUR ? 'step=day' : 'a shorter range'}`);
  return accepted(range);
}

function parseTime(name: string, text: string | undefined, otherwise: number): Parsed<number> {
  if (text === undefined) return accepted(otherwise);
  const date = /^\d{4}-\d\d-\d\d$/.test(text);
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const value = date || time ? Date.parse(text) : Number.NaN;
  return Number.isNaN(value) ? refused(`${name} is a date or a time, such as 2026-11-22 or 2026-11-22T13:00:00Z`) : accepted(value);
}

function parseStep(text: string | undefined, length: number): Parsed<Range['step']> {
  if (text === undefined) return accepted(length <= SHORT ? HOUR : DAY);
  if (text === 'hour') return accepted(HOUR);
  if (text === 'day') return accepted(DAY);
  return refused('step is hour or day');
}
