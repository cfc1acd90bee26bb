import type { RouteInput } from '../../../shared/route.ts';
import { targetKey } from '../../ledger/targets.ts';
import type { TrafficSettings } from '../protocol.ts';
import { eventually, ProxyFixture } from './test-proxy.ts';

/** Settings with a cache. */
export const CACHE = { cacheSize: 10_000_000 };

/** Test support: a worker with a cache, whose look-ups in the main thread find nothing. */
export const cachingProxy = (route: RouteInput, more: Partial<TrafficSettings> = {}): Promise<ProxyFixture> =>
  ProxyFixture.with(
    [route],
    { ...CACHE, ...more },
    {
      onCache: (message, worker) => {
        if (message.kind === 'look-up') worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries: [] } });
      },
    },
  );

/** Waits until a target has failed so many requests: those that may wait for another one do so then. */
export function failedAt(proxy: ProxyFixture, address: string, times = 1, tls = false): Promise<void> {
  const { targets } = proxy.ledger;
  return eventually('the target to have failed', () => {
    const slot = targets.find(targetKey(address, tls));
    return slot >= 0 && targets.failures(slot) >= times;
  });
}
