import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { REST_MS } from '../watching/incomplete.ts';
import { withoutPolls } from './file-source.ts';

/** A clock whose long times, such as those for which a file may be missing or incomplete, end when a test lets them pass. */
export function steppedClock() {
  let time = 0;
  const waits = new Set<{ readonly until: number; readonly act: () => void }>();
  const clock: Clock = {
    ...withoutPolls,
    monotonic: () => time,
    after: (ms, act) => {
      if (ms < REST_MS / 2) return withoutPolls.after(ms, act);
      const one = { until: time + ms, act };
      waits.add(one);
      return () => void waits.delete(one);
    },
  };
  const pass = (ms: number): void => {
    time += ms;
    for (const one of waits) if (one.until <= time && waits.delete(one)) one.act();
  };
  /** Resolves when a time begins that ends this much later. */
  const waitsFor = async (ms: number): Promise<void> => {
    while (![...waits].some(({ until }) => until === time + ms)) await wait(10);
  };
  return { clock, pass, waitsFor };
}
