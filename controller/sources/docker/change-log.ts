import type { Log } from '../../../shared/runtime/log/log.ts';
import { keyOf, type UndatedReading } from '../transition-times.ts';
import type { EngineSnapshot } from './routes/engine-snapshot.ts';
import { READY, readinessOf } from './routes/readiness.ts';

/** One line about one site of a container. An unchanged line is written only once. */
type Line = { readonly message: string; readonly fields: { readonly container: string; readonly [field: string]: unknown } };

export type ChangeLog = { record(snapshot: EngineSnapshot, readings: readonly UndatedReading[]): void };

/** Logs each change in one INFO line: what is routed where, what is out of rotation and why, and what is gone. */
export function createChangeLog(log: Log): ChangeLog {
  let before = new Map<string, Line>();
  return {
    record: (snapshot, readings) => {
      const readiness = readinessOf(snapshot);
      const now = new Map(readings.map((reading) => [keyOf(reading), lineOf(reading, snapshot, readiness.get(reading.id) === READY)]));
      for (const [key, line] of now) if (!isSame(before.get(key), line)) log.info(line.fields, line.message);
      for (const [key, { fields }] of before) if (!now.has(key)) log.info({ container: fields.container }, 'container gone');
      before = now;
    },
  };
}

const isSame = (before: Line | undefined, now: Line): boolean =>
  before?.message === now.message && JSON.stringify(before.fields) === JSON.stringify(now.fields);

function lineOf({ id, name, domains, accepted, resolved, address }: UndatedReading, { draining }: EngineSnapshot, isReady: boolean): Line {
  const site = { container: name, id: id.slice(0, 12), domains };
  if (!accepted.holds && address === null) return { message: 'container not routed', fields: { ...site, reason: accepted.reason } };
  // One with invalid labels may still be routed by its last good version.
  const about = { ...site, ...(accepted.holds ? {} : { mistake: accepted.reason }) };
  if (draining.has(id)) return { message: 'container draining', fields: { ...about, address } };
  if (!resolved.holds) return { message: 'container not in rotation', fields: { ...about, reason: resolved.reason } };
  return isReady
    ? { message: 'container routed', fields: { ...about, address } }
    : { message: 'container not in rotation', fields: { ...about, address, reason: resolved.reason } };
}
