import type { RouteInput } from '../../../../shared/route.ts';
import { CacheIndex } from '../../../cache/cache-index.ts';
import type { CacheToWorker } from '../../cache-messages.ts';
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
        if (message.kind === 'look-up')
          worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries: [], purged: 0 } });
      },
    },
  );

/** The same with the index of the main thread, which sends its messages in the next turn of the event loop. */
export async function indexedProxy(route: RouteInput): Promise<{ readonly proxy: ProxyFixture; readonly index: CacheIndex }> {
  let send: (message: CacheToWorker) => void = () => undefined;
  const later = (message: CacheToWorker): void => void setImmediate(() => send(message));
  const index = new CacheIndex(CACHE.cacheSize, { reply: (_, message) => later(message), broadcast: later });
  const proxy = await ProxyFixture.with([route], CACHE, {
    onCache: (message, worker) => {
      send = (reply) => worker.handle({ kind: 'cache', message: reply });
      index.handle(1, message);
    },
  });
  return { proxy, index };
}
