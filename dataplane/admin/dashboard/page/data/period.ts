import type { History } from '../../../../../shared/wire/history.ts';

/** The periods that can be chosen, as questions to the history endpoints. */

export const PERIODS = ['today', 'day', 'week', 'month', 'year', 'own'] as const;
export type PeriodName = (typeof PERIODS)[number];

/** `from` until before `to`, ms since 1970. `step` null: hours, if the period is short and they are still kept. */
export type Period = Span & { readonly name: PeriodName; readonly step: 'hour' | 'day' | null; readonly previous: Span };
type Span = { readonly from: number; readonly to: number };

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** As many as the Admin API answers at once. */
export const MAX_DAYS = 1_000;
/** Days that a period of somebody's own may begin and end with. */
export const [FIRST_DAY, LAST_DAY] = ['1970-01-01', '2999-12-31'];

/**
 * Days are those of UTC, in which history is kept; `today` begins at midnight of the browser's time zone. `now` in ms since 1970.
 * `previous` ends as early as the period does so far: a day that has just begun isn't compared with a whole one.
 */
export function periodOf(query: ReadonlyMap<string, string>, now: number): Period {
  const period = chosen(query, now);
  return { ...period, previous: period.name === 'today' ? yesterday(now) : spanBefore(period, hourAfter(now)) };
}

/** Yesterday's midnight until the hour that the clock shows now; a day on which clocks change has 23 or 25 hours. */
function yesterday(now: number): Span {
  const last = dayBefore(now);
  return { from: midnightOf(last), to: hourAfter(last) };
}

function spanBefore({ from, to }: Span, end: number): Span {
  const length = to - from;
  return { from: from - length, to: (end > from ? Math.min(to, end) : to) - length };
}

const hourAfter = (time: number): number => Math.floor(time / HOUR) * HOUR + HOUR;

/** When the clock showed the same time the day before. */
function dayBefore(time: number): number {
  const date = new Date(time);
  date.setDate(date.getDate() - 1);
  return date.getTime();
}

/** The whole hour in which the day of `time` begins. */
const midnightOf = (time: number): number => Math.floor(new Date(time).setHours(0, 0, 0, 0) / HOUR) * HOUR;

/**
 * The point of `previous` that each point is compared with: that of the same hour of the clock for today, otherwise the one at the same
 * place.
 */
export function pointsBefore<T extends { readonly at: string }>({
  from,
  step,
  series,
  previous,
}: {
  from: string;
  step: string;
  series: readonly T[];
  previous: { from: string; series: readonly T[] };
}): (T | null)[] {
  const begin = Date.parse(from);
  const today = step === 'hour' && midnightOf(begin) === begin && midnightOf(dayBefore(begin)) === Date.parse(previous.from);
  if (!today) return series.map((_, index) => previous.series[index] ?? null);
  const byTime = new Map(previous.series.map((point) => [Date.parse(point.at), point]));
  return series.map(({ at }) => byTime.get(Math.floor(dayBefore(Date.parse(at)) / HOUR) * HOUR) ?? null);
}

function chosen(query: ReadonlyMap<string, string>, now: number): Omit<Period, 'previous'> {
  const name = PERIODS.find((one) => one === query.get('range')) ?? 'day';
  const nextHour = hourAfter(now);
  const nextDay = Math.floor(now / DAY) * DAY + DAY;
  switch (name) {
    case 'today':
      return { name, from: midnightOf(now), to: nextHour, step: 'hour' };
    case 'day':
      return { name, from: nextHour - DAY, to: nextHour, step: 'hour' };
    case 'week':
      return { name, from: nextDay - 7 * DAY, to: nextDay, step: 'day' };
    case 'month':
      return { name, from: nextDay - 30 * DAY, to: nextDay, step: 'day' };
    case 'year':
      return { name, from: nextDay - 365 * DAY, to: nextDay, step: 'day' };
    case 'own': {
      const from = dayOf(query.get('from'));
      const last = dayOf(query.get('to'));
      if (from === null || last === null || last < from || last - from >= MAX_DAYS * DAY) return chosen(new Map(), now);
      return { name, from, to: last + DAY, step: null };
    }
  }
}

/** `2026-11-23` as the start of that day in UTC. */
function dayOf(text: string | undefined): number | null {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text) || text < FIRST_DAY || text > LAST_DAY) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

/** How the period before can be compared with: all of it is kept, some is not (`partly`), or it had no requests (`empty`). */
export function comparability({ kept_since, previous }: Pick<History, 'kept_since' | 'previous'>): 'whole' | 'partly' | 'empty' {
  if (previous.totals.views === 0) return 'empty';
  return kept_since === null || Date.parse(kept_since) > Date.parse(previous.from) ? 'partly' : 'whole';
}

/**
 * How many of the first points are from a time for which nothing is kept. The last one before that time counts as known: the graph rises
 * from it.
 */
export function unknownPoints({ kept_since, series, step }: UnknownOf): number {
  if (kept_since === null) return 0;
  const length = step === 'hour' ? HOUR : DAY;
  const first = series.findIndex(({ at }) => Date.parse(at) + length > Date.parse(kept_since));
  return first < 0 ? series.length : Math.max(0, first - 1);
}

type UnknownOf = Pick<History, 'kept_since' | 'step'> & { readonly series: readonly { readonly at: string }[] };

export const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The parameters of the history endpoints. */
export const periodQuery = ({ from, to, step, previous }: Period): string =>
  new URLSearchParams({
    ...{ from: timeOf(from), to: timeOf(to), ...(step !== null && { step }) },
    ...{ previous_from: timeOf(previous.from), previous_to: timeOf(previous.to) },
  }).toString();

const timeOf = (time: number): string => new Date(time).toISOString();
