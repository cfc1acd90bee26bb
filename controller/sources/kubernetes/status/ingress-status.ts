import { INGRESSES, type Ingress } from '../objects/ingress.ts';
import type { DesiredStatus, PublishedAddress } from './desired-status.ts';

/** Cached by version of an Ingress and answer, so that an unchanged one is recognized. */
const known = { ours: new WeakMap<Ingress, DesiredStatus>(), others: new WeakMap<Ingress, DesiredStatus>() };

/**
 * The status of an Ingress: the addresses where it is served. It is withdrawn when this controller no longer serves the Ingress, unless
 * another controller has already written its own.
 */
export function ingressStatusOf(ingress: Ingress, isOurs: boolean): DesiredStatus {
  const cache = isOurs ? known.ours : known.others;
  const before = cache.get(ingress);
  if (before) return before;
  const status: DesiredStatus = {
    resource: INGRESSES,
    meta: ingress.meta,
    build: ({ isWritten, addresses }) => {
      if (!isOurs) return isWritten ? { loadBalancer: null } : undefined;
      if (addresses === null) return undefined;
      if (addresses.length === 0) return isWritten ? { loadBalancer: null } : undefined;
      return { loadBalancer: { ingress: addresses.map(entryOf) } };
    },
  };
  cache.set(ingress, status);
  return status;
}

const entryOf = ({ kind, value }: PublishedAddress): object => (kind === 'ip' ? { ip: value } : { hostname: value });
