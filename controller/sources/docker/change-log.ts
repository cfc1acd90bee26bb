import type { Log } from '../../../shared/runtime/log.ts';
import { keyOf, type UndatedReading } from '../transition-times.ts';
import type { EngineSnapshot } from './routes/engine-snapshot.ts';
import { READY, readinessOf } from './routes/readiness.ts';

/** One line about one site of a container. The same line is written once. */
type Line = { readonly message: string; readonly fields: { readonly container: string; readonly [field: string]: unknown } };

/** One INFO line a change: who is routed where, who is out and why, who is gone. */
export function createChangeLog(log: Log): { record(snapshot: EngineSnapshot, readings: readonly UndatedReading[]): void } {
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
  // One whose labels are wrong may be routed as it was before.
  const about = { ...site, ...(accepted.holds ? {} : { mistake: accepted.reason }) };
  if (draining.has(id)) return { message: 'container draining', fields: { ...about, address } };
  if (!resolved.holds) return { message: 'container not in rotation', fields: { ...about, reason: resolved.reason } };
  return isReady
    ? { message: 'container routed', fields: { ...about, address } }
    : { message: 'container not in rotation', fields: { ...about, address, reason: resolved.reason } };
}
