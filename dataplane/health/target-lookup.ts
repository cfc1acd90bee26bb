import { isIP, type LookupFunction } from 'node:net';
import type { Resolver } from '../../shared/upstreams/resolver.ts';

/**
 * Looks the names of targets up for checks, anew for each of them. A resolver that fails says nothing about a target, so the last addresses
 * are used meanwhile, as for requests.
 */
export const targetLookup =
  (resolver: Resolver): LookupFunction =>
  (host, { all }, then) => {
    resolver.forget(host);
    resolver.resolve(host, (error, addresses) => {
      const [first = ''] = addresses;
      if (error !== null) process.nextTick(then, error, []);
      else if (all) process.nextTick(then, null, addresses.map(found));
      else process.nextTick(then, null, first, isIP(first));
    });
  };

const found = (address: string) => ({ address, family: isIP(address) });
