import type { Container } from '../engine/container.ts';
import type { EngineSnapshot } from './engine-snapshot.ts';

/** How long ago that may have been (ms). */
const LATELY_MS = 60_000;

/**
 * What the engine would list if the containers that ended or were created lately were about to start. A controller that starts while an
 * app is replaced, perhaps together with it, must not say that its domains are unknown: data planes keep requests waiting for them.
 */
export const beforeTheyEnded = (snapshot: EngineSnapshot): EngineSnapshot => ({
  ...snapshot,
  containers: snapshot.containers.map((container) =>
    isLate(container, snapshot.now) ? { ...container, status: 'restarting' } : container,
  ),
});

function isLate({ status, createdAt, finishedAt }: Container, now: number): boolean {
  if (status !== 'created' && status !== 'exited') return false;
  const at = status === 'created' ? createdAt : finishedAt;
  // An engine that is starting it may not respond to its inspection yet, and its list doesn't say when it ended.
  return at === null || Math.abs(now - Date.parse(at)) < LATELY_MS;
}
