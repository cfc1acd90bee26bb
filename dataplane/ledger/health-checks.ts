import type { HealthCheckSpec, UpstreamSpec } from '../../shared/route.ts';
import { type TransportSpec, transportName } from '../../shared/transport.ts';
import { socketPath } from '../../shared/values/address.ts';
import { type Key, keyOf } from './hash.ts';
import { targetKey, targetName } from './targets.ts';

/** What is asked of a target, and whether it may be used before it has answered. */
export type Gate = {
  /** Names target and question: what two routes ask alike is asked once. */
  readonly name: string;
  /** Where the verdict stands in the ledger. */
  readonly key: Key;
  /** Shut until the first good answer; otherwise shut by bad ones only. */
  readonly shutAtFirst: boolean;
  /** The page that it must answer; null where an open connection says enough. */
  readonly page: { readonly path: string; readonly host: string } | null;
};

/** The part of a target that a question depends on. */
export type Asked = Pick<UpstreamSpec, 'address' | 'id' | 'state' | 'probe'>;

/**
 * What keeps a target of a route out of rotation besides its state. null where the state alone decides: a target that
 * is well and not checked, or one that its source has taken out.
 */
export function gateOf(
  domain: string,
  asked: Asked,
  tls: boolean,
  health: HealthCheckSpec | null | undefined,
  transport?: TransportSpec | null,
): Gate | null {
  const entering = asked.state === 'starting' && asked.probe === true;
  if (!entering && (asked.state !== 'healthy' || health == null)) return null;
  return questionTo(domain, asked, tls, health, entering, transport);
}

/** The same whatever the target's state: a verdict is kept for as long as a route names the target. */
export function questionTo(
  domain: string,
  { address, id }: Asked,
  tls: boolean,
  health: HealthCheckSpec | null | undefined,
  shutAtFirst: boolean,
  transport?: TransportSpec | null,
): Gate {
  const manner = transportName(transport);
  const target = targetName(address, tls, id, manner);
  if (health == null) return { name: target, key: targetKey(address, tls, id, manner), shutAtFirst, page: null };
  // No site has the name of a pattern: there the target is asked by its own.
  const host = domain.startsWith('*') ? (socketPath(address) === null ? address : 'localhost') : domain;
  const name = `${target} ${host} ${health.path}`;
  return { name, key: keyOf(`check\n${name}`), shutAtFirst, page: { path: health.path, host } };
}
