import type { Container } from '../engine/container.ts';
import type { EngineSnapshot } from './engine-snapshot.ts';

/** How ready a container is for requests: accepts new ones, only finishes or waits, or is absent. */
export type ContainerReadiness = 2 | 1 | 0;
export const READY: ContainerReadiness = 2;

/** Each container's readiness by id; missing ones are absent. */
export function readinessOf({
  containers,
  draining,
}: Pick<EngineSnapshot, 'containers' | 'draining'>): ReadonlyMap<string, ContainerReadiness> {
  return new Map(containers.map((container) => [container.id, readinessOfOne(container, draining)]));
}

function readinessOfOne({ id, status, health }: Container, draining: ReadonlySet<string>): ContainerReadiness {
  if (status !== 'running' && status !== 'paused') return 0;
  return status === 'running' && (health === 'none' || health === 'healthy') && !draining.has(id) ? READY : 1;
}

/** Whether a container is less ready than before: any delay would send requests to a target that is going away. */
export function lostReadiness(before: ReadonlyMap<string, ContainerReadiness>, now: ReadonlyMap<string, ContainerReadiness>): boolean {
  for (const [id, readiness] of before) if ((now.get(id) ?? 0) < readiness) return true;
  return false;
}
