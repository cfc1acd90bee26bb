import type { UnconfirmedSource } from '../unconfirmed/unconfirmed.ts';
import type { ControllerRecord } from './controllers.ts';

/** The targets that wait for their controllers. */
type Waiting = {
  unconfirmedSources(): readonly UnconfirmedSource[];
  /** By controller and `lostName`. */
  lostTargets(): ReadonlyMap<string, ReadonlySet<string>>;
};

/** Corrected records of the controllers about which what a successor must know has changed. `staying`: those whose streams stay open. */
export function forSuccessor(
  controllers: ReadonlyMap<string, ControllerRecord>,
  waiting: Waiting,
  staying: ReadonlySet<string>,
): ControllerRecord[] {
  const unconfirmed = waiting.unconfirmedSources();
  const lost = waiting.lostTargets();
  const all = [...controllers.values()].map((record) => ({
    ...record,
    doubted: unconfirmed.filter(({ controller }) => controller === record.id).map(({ source }) => source),
    lost: [...(lost.get(record.id) ?? [])],
    stays: staying.has(record.id),
  }));
  return all.filter((record) => JSON.stringify(record) !== JSON.stringify(controllers.get(record.id)));
}

/**
 * Whether a successor that does not get the corrected record would use what it must not. That its targets are in use again, or that a
 * controller stays, it learns from the controller.
 */
export function isNeeded({ doubted, lost }: ControllerRecord, saved: ControllerRecord | undefined): boolean {
  return lost.some((name) => saved?.lost.includes(name) !== true) || JSON.stringify(doubted) !== JSON.stringify(saved?.doubted);
}
