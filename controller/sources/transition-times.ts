import type { Clock } from '../../shared/runtime/clock.ts';
import type { ObjectCondition, Reading } from './source.ts';

/** A condition without the time since when it has held. */
export type UndatedCondition = Omit<ObjectCondition, 'since'>;

export type UndatedReading = Omit<Reading, 'accepted' | 'resolved'> & {
  readonly accepted: UndatedCondition;
  readonly resolved: UndatedCondition;
};

/** Remembers since when each condition of each reading has had its current value. */
export function createTransitionTimes(clock: Clock): (readings: readonly UndatedReading[]) => Reading[] {
  let known = new Map<string, Reading>();
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

/** Readings with the same id and section are of the same object. */
export const keyOf = ({ id, section }: Pick<Reading, 'id' | 'section'>): string => `${id} ${section ?? ''}`;

const dateOf = (condition: UndatedCondition, before: ObjectCondition | undefined, now: string): ObjectCondition => ({
  ...condition,
  since: before?.holds === condition.holds ? before.since : now,
});
