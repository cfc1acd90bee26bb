import type { UpstreamSpec } from '../../shared/route.ts';
import type { HealthCheckSpec } from '../../shared/upstreams/health-check.ts';
import { type TransportSpec, transportName } from '../../shared/upstreams/transport.ts';
import { socketPath } from '../../shared/values/address.ts';
import { type Key, keyOf } from './hash.ts';
import { targetKey, targetName } from './targets.ts';

/** A check of one target, and whether the target may be used before it has passed. */
export type HealthCheck = {
  /** Identifies the target and the check; a check that two routes share is made once. */
  readonly name: string;
  /** The key of the result in the ledger. */
  readonly key: Key;
  /** Whether the target is out of rotation until it has passed once. Otherwise only failures take it out. */
  readonly outAtFirst: boolean;
  /** The page that the target must serve; null if an open connection is enough. */
  readonly page: { readonly path: string; readonly host: string; readonly status: string | null } | null;
};

/** The part of a target that a check depends on. */
export type CheckedTarget = Pick<UpstreamSpec, 'address' | 'id' | 'state' | 'probe'>;

/**
 * The check that decides, together with its state, whether a target of a route is in rotation. null if the state alone
 * decides: the target is healthy and not checked, or its source has taken it out.
 */
export function activeCheck(
  domain: string,
  target: CheckedTarget,
  tls: boolean,
  health: HealthCheckSpec | null | undefined,
  transport?: TransportSpec | null,
): HealthCheck | null {
  const entering = target.state === 'starting' && target.probe === true;
  if (!entering && (target.state !== 'healthy' || health == null)) return null;
  return checkOf(domain, target, tls, health, entering, transport);
}

/** The same check for every state of the target, so that a result is kept for as long as a route names the target. */
export function checkOf(
  domain: string,
  { address, id }: CheckedTarget,
  tls: boolean,
  health: HealthCheckSpec | null | undefined,
  outAtFirst: boolean,
  transport?: TransportSpec | null,
): HealthCheck {
  const transportId = transportName(transport);
  const target = targetName(address, tls, id, transportId);
  if (health == null) return { name: target, key: targetKey(address, tls, id, transportId), outAtFirst, page: null };
  // A wildcard pattern is not a host name, so the target's own name is used.
  const host = domain.startsWith('*') ? (socketPath(address) === null ? address : 'localhost') : domain;
  const { path, status = null, passes, fails } = health;
  const expected = [status, passes && `passes ${passes}`, fails && `fails ${fails}`].map((part) => (part ? ` ${part}` : '')).join('');
  const name = `${target} ${host} ${path}${expected}`;
  return { name, key: keyOf(`check\n${name}`), outAtFirst, page: { path, host, status } };
}
