import type { Clock } from '../../shared/runtime/clock.ts';
import type { Reading, UndatedCondition } from './docker/routes/engine-snapshot.ts';
import type { Condition, ContainerReading } from './source.ts';

/** Remembers since when each fact holds, or does not. */
export function createTransitionTimes(clock: Clock): (readings: readonly Reading[]) => ContainerReading[] {
  let known = new Map<string, ContainerReading>();
  return (readings) => {
    const now = new Date(clock.now()).toISOString();
    const dated = readings.map((reading) => {
      const before = known.get(keyOf(reading));
      return {
        ...reading,
        accepted: dateOf(reading.accepted, before?.accepted, now),
        resolved: dateOf(reading.resolved, before?.resolved, now),
      };
    });
    known = new Map(dated.map((reading) => [keyOf(reading), reading]));
    return dated;
  };
}

const keyOf = ({ id, site }: Pick<Reading, 'id' | 'site'>): string => `${id} ${site ?? ''}`;

const dateOf = (judgement: UndatedCondition, before: Condition | undefined, now: string): Condition => ({
  ...judgement,
  since: before?.holds === judgement.holds ? before.since : now,
});
