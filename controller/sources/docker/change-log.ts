import type { Log } from '../../../shared/runtime/log.ts';
import type { Reading, World } from './routes/engine-snapshot.ts';
import { rotationOf } from './routes/readiness.ts';

/** What a line about one site of a container says, and what it is told by: the same words are told once. */
type Told = { readonly message: string; readonly fields: object };

/** One INFO line a change: who is routed where, who is out and why, who is gone. */
export function createChangeLog(log: Log): { tell(world: World, readings: readonly Reading[]): void } {
  let before = new Map<string, Told>();
  return {
    tell: (world, readings) => {
      const rotation = rotationOf(world);
      const now = new Map(readings.map((reading) => [keyOf(reading), toldOf(reading, world, rotation.get(reading.id) === 2)]));
      for (const [key, told] of now) if (!sameAs(before.get(key), told)) log.info(told.fields, told.message);
      for (const [key, { fields }] of before)
        if (!now.has(key)) log.info({ container: (fields as { container?: string }).container }, 'container gone');
      before = now;
    },
  };
}

const keyOf = ({ id, site }: Reading): string => `${id} ${site ?? ''}`;
const sameAs = (before: Told | undefined, now: Told): boolean =>
  before?.message === now.message && JSON.stringify(before.fields) === JSON.stringify(now.fields);

function toldOf({ id, container, domains, accepted, resolved, address }: Reading, { draining }: World, isUp: boolean): Told {
  const site = { container, id: id.slice(0, 12), domains };
  if (!accepted.holds && address === null) return { message: 'container not routed', fields: { ...site, reason: accepted.reason } };
  // One whose labels are wrong may be routed as it was before.
  const about = { ...site, ...(accepted.holds ? {} : { mistake: accepted.reason }) };
  if (draining.has(id)) return { message: 'container draining', fields: { ...about, address } };
  if (!resolved.holds) return { message: 'container not in rotation', fields: { ...about, reason: resolved.reason } };
  return isUp
    ? { message: 'container routed', fields: { ...about, address } }
    : { message: 'container not in rotation', fields: { ...about, address, reason: resolved.reason } };
}
