import type { RouteInput } from '../../../../shared/route.ts';
import type { TrafficSettings } from '../../protocol.ts';
import { ProxyFixture } from './test-proxy.ts';

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
