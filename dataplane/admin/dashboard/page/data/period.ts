import type { History } from '../../../../../shared/wire/history.ts';

/** The periods that can be chosen, as questions to the history endpoints. */

export const PERIODS = ['today', 'day', 'week', 'month', 'year', 'own'] as const;
export type PeriodName = (typeof PERIODS)[number];

/** `from` until before `to`, ms since 1970. */
export type Period = { readonly name: PeriodName; readonly from: number; readonly to: number; readonly step: 'hour' | 'day' };

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** An own period up to this length is shown by the hour. */
const SHORT = 3 * DAY;

/** Days are those of UTC, in which history is kept; `today` begins at the visitor's midnight. `now` in ms since 1970. */
export function periodOf(query: ReadonlyMap<string, string>, now: number): Period {
  const name = PERIODS.find((one) => one === query.get('range')) ?? 'day';
  const nextHour = Math.floor(now / HOUR) * HOUR + HOUR;
  const nextDay = Math.floor(now / DAY) * DAY + DAY;
  switch (name) {
    case 'today': {
      const midnight = new Date(now);
      midnight.setHours(0, 0, 0, 0);
      return { name, from: Math.floor(midnight.getTime() / HOUR) * HOUR, to: nextHour, step: 'hour' };
    }
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
      if (from === null || last === null || last < from) return periodOf(new Map(), now);
      const to = last + DAY;
      return { name, from, to, step: to - from <= SHORT ? 'hour' : 'day' };
    }
  }
}

/** `2026-11-23` as the start of that day in UTC. */
function dayOf(text: string | undefined): number | null {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}

/** How the period before can be compared with: all of it is kept, some is not (`partly`), or it had no requests (`empty`). */
export function comparability({ kept_since, previous }: Pick<History, 'kept_since' | 'previous'>): 'whole' | 'partly' | 'empty' {
  if (previous.totals.views === 0) return 'empty';
  return kept_since === null || Date.parse(kept_since) > Date.parse(previous.from) ? 'partly' : 'whole';
}

export const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** The parameters of the history endpoints. */
export const periodQuery = ({ from, to, step }: Period): string =>
  new URLSearchParams({ from: new Date(from).toISOString(), to: new Date(to).toISOString(), step }).toString();
