import type { CacheEntry } from '../../traffic/cache-messages.ts';

let lastId = 0;

/** A stored response to a GET of this target of a.test. */
export const entry = (target: string, more: Partial<CacheEntry> = {}): CacheEntry => ({
  ...{
    id: ++lastId,
    bodyId: lastId,
    key: `http a.test ${target}`,
    host: 'a.test',
    domain: 'a.test',
    queryRule: '',
    target,
    vary: [],
    variant: '',
    status: 200,
    fields: '',
    length: 1_000,
  },
  ...{ body: [], receivedAt: 0, initialAge: 0, lifetime: 60, noCache: false, mustRevalidate: false, staleWhileRevalidate: 0 },
  ...{ staleIfError: 0, etag: null, lastModified: null, hasExactDate: false, tags: [], shared: true },
  ...more,
});
