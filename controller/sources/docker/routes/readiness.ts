import type { Container } from '../engine/container.ts';
import type { World } from './engine-snapshot.ts';

/** How near a container is to its visitors: gets new ones, only finishes or waits, is not there. */
export type Nearness = 2 | 1 | 0;

/** Each container's nearness by id; who is not named is not there. */
export function rotationOf({ containers, draining }: Pick<World, 'containers' | 'draining'>): ReadonlyMap<string, Nearness> {
  return new Map(containers.map((container) => [container.id, nearnessOf(container, draining)]));
}

function nearnessOf({ id, status, health }: Container, draining: ReadonlySet<string>): Nearness {
  if (status !== 'running' && status !== 'paused') return 0;
  return status === 'running' && (health === 'none' || health === 'healthy') && !draining.has(id) ? 2 : 1;
}

/** Whether a container is farther from its visitors than before: every moment in which they are still sent there costs. */
export function lostOne(before: ReadonlyMap<string, Nearness>, now: ReadonlyMap<string, Nearness>): boolean {
  for (const [id, nearness] of before) if ((now.get(id) ?? 0) < nearness) return true;
  return false;
}
