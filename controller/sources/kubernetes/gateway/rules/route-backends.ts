import { isDeepStrictEqual } from 'node:util';
import type { RouteInput } from '../../../../../shared/route.ts';
import { type Backends, portOf } from '../../backends/backends.ts';
import type { RouteBackend } from '../../objects/http-route.ts';
import { nameOf } from '../../objects/meta.ts';
import { GATEWAY_GROUP } from '../../objects/object-ref.ts';
import type { Service } from '../../objects/service.ts';
import type { BackendPolicies } from '../backend-policies.ts';
import type { Grants } from '../grants.ts';
import type { RouteKind } from '../listeners.ts';
import { fails, type Verdict } from '../status/verdict.ts';

type Handle = NonNullable<RouteInput['handles']>[number];
/** The members of a block that determine where its requests are sent. */
export type BackendPool = Pick<Handle, 'upstreams' | 'tls' | 'transport'>;

/** The targets of a backend; `fault` is the reason if there can't be any. */
export type RouteTargets = { readonly pool: BackendPool; readonly fault: null } | { readonly pool: null; readonly fault: Verdict };

/** The Service that a route refers to, and its namespace. */
type BackendOwner = { readonly kind: RouteKind; readonly namespace: string };

/** Those of the last snapshot. */
let latest: ReadonlyMap<string, RouteTargets> = new Map();

/** Finds the targets of the backends of routes. */
export class RouteBackends {
  private readonly backends: Backends;
  private readonly services: ReadonlyMap<string, Service>;
  private readonly policies: BackendPolicies;
  private readonly grants: Grants;
  private readonly earlier = latest;
  private readonly found = new Map<string, RouteTargets>();
  /** Differs for each snapshot. */
  readonly round = Symbol('round');

  constructor(backends: Backends, services: ReadonlyMap<string, Service>, policies: BackendPolicies, grants: Grants) {
    this.backends = backends;
    this.services = services;
    this.policies = policies;
    this.grants = grants;
    latest = this.found;
  }

  /** The same object as in the last snapshot unless something has changed, by which callers recognize it. */
  resolve(owner: BackendOwner, backend: Pick<RouteBackend, 'ref' | 'port'>): RouteTargets {
    const { group, kind, namespace = '', name } = backend.ref;
    const key = `${owner.kind} ${owner.namespace} ${group} ${kind} ${namespace} ${name} ${backend.port}`;
    const found = this.found.get(key);
    if (found !== undefined) return found;
    const now = this.find(owner, backend);
    const before = this.earlier.get(key);
    const targets = before !== undefined && isDeepStrictEqual(before, now) ? before : now;
    this.found.set(key, targets);
    return targets;
  }

  private find({ kind, namespace }: BackendOwner, { ref, port }: Pick<RouteBackend, 'ref' | 'port'>): RouteTargets {
    const wrong = (reason: string, message: string) => ({ pool: null, fault: fails(reason, message) });
    const own = ref.namespace ?? namespace;
    const name = nameOf({ namespace: own, name: ref.name });
    if (ref.kind !== 'Service' || ref.group !== '') return wrong('InvalidKind', `the backend ${ref.kind} ${name} is not a Service`);
    if (!this.grants.allows({ group: GATEWAY_GROUP, kind, namespace }, ref))
      return wrong('RefNotPermitted', `no ReferenceGrant allows the Service ${name}`);
    if (port === null) return wrong('BackendNotFound', `the backend ${name} names no port`);
    const { upstreams, tls, transport, reason, isMissing } = this.backends.resolve(own, { service: ref.name, port });
    if (isMissing) return wrong('BackendNotFound', reason ?? `the service ${name} can't be used`);
    const http2 = kind === 'GRPCRoute' ? ({ protocol: 'h2c' } as const) : transport;
    const policy = this.policies.of(name, this.portName(name, port));
    if (policy === undefined) return { pool: { upstreams, tls, ...(http2 && { transport: http2 }) }, fault: null };
    if (policy.tls === null)
      return wrong('BackendNotFound', `the BackendTLSPolicy ${nameOf(policy.policy.meta)} of the service ${name} is not valid`);
    const secure = { ...policy.tls, ...(http2?.protocol !== undefined && { protocol: 'h2' as const }) };
    return { pool: { upstreams, tls: true, transport: secure }, fault: null };
  }

  private portName(service: string, port: number): string {
    const found = this.services.get(service);
    return (found && portOf(found, port)?.name) ?? '';
  }
}
