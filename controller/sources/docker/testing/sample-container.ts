import type { Container } from '../engine/container.ts';
import type { EngineSnapshot } from '../routes/engine-snapshot.ts';
import { fakeId } from './fake-container.ts';

/** A running container for tests, number 1 being the oldest: `sampleContainer(1, { labels: { 'sluice.domain': 'a.example' } })`. */
export function sampleContainer(number: number, more: Partial<Container> = {}): Container {
  return {
    id: fakeId(number),
    name: `app-${number}`,
    createdAt: `2026-01-01T00:00:0${number}Z`,
    image: 'app',
    labels: { 'sluice.domain': 'a.example' },
    exposedTcpPorts: [80],
    networks: [{ name: 'shop', id: 'shop-id', ipv4: `172.18.0.${number}`, ipv6: null }],
    networkMode: 'shop',
    publishedPorts: [],
    status: 'running',
    health: 'none',
    startedAt: `2026-01-01T00:00:0${number}Z`,
    finishedAt: null,
    stopSignal: null,
    stopTimeoutSecs: 0,
    composeProject: null,
    composeService: null,
    ...more,
  };
}

/** Containers and a data plane on the host. */
export const sampleSnapshot = (containers: readonly Container[], more: Partial<EngineSnapshot> = {}): EngineSnapshot => ({
  containers,
  draining: new Set(),
  reach: { kind: 'host' },
  addresses: 'auto',
  network: null,
  elsewhere: false,
  lastGood: new Map(),
  now: 0,
  ...more,
});
