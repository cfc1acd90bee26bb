import { readClientAuthorities } from '../../../../shared/certificates/client-authorities.ts';
import type { ClientValidation, Gateway, GatewayListener, ListenerSet, NamespaceFilter } from '../objects/gateway.ts';
import { byAge, type Meta, nameOf } from '../objects/meta.ts';
import type { Namespace } from '../objects/namespace.ts';
import { GATEWAY_GROUP } from '../objects/object-ref.ts';
import type { TlsSecret } from '../objects/secret.ts';
import { EARLIER_STAYS, faultOfSecret, usableCertificate } from '../objects/secret-certificate.ts';
import { selects } from '../objects/selector.ts';
import { readAuthorities } from './authorities.ts';
import type { OwnAddress } from './gateway-addresses.ts';
import type { GatewaySnapshot } from './gateway-snapshot.ts';
import type { Grants, Referrer } from './grants.ts';
import { fails, holds, type Verdict } from './status/verdict.ts';

export type RouteKind = 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute';

/** A listener with its verdicts. */
export type BoundListener = {
  readonly gateway: Gateway;
  /** The object that defines it. */
  readonly owner: ListenerOwner;
  readonly listener: GatewayListener;
  /** The kinds of routes that it accepts. */
  readonly kinds: readonly RouteKind[];
  readonly accepted: Verdict;
  readonly resolved: Verdict;
  /** null if there is no conflict. */
  readonly conflict: Verdict | null;
  /** `NAMESPACE/NAME` of the Secrets that it presents. */
  readonly secrets: readonly string[];
  /** The names in their certificates. */
  readonly certified: readonly string[];
  /** PEM: the authorities of client certificates; null if clients need none. */
  readonly clientAuthorities: string | null;
  /** The address of the proxy where connections to it arrive; null: all of them. */
  readonly address: string | null;
  /** Whether connections to it are served. */
  readonly isServed: boolean;
};

export type ListenerOwner = { readonly kind: 'Gateway' | 'ListenerSet'; readonly meta: Meta };

/** The kinds of routes that go with a protocol; undefined for a protocol that is not supported. */
function kindsOf({ protocol, tls }: GatewayListener): readonly RouteKind[] | undefined {
  switch (protocol) {
    case 'HTTP':
      return ['HTTPRoute', 'GRPCRoute'];
    case 'HTTPS':
      return ['HTTPRoute', 'GRPCRoute'];
    case 'TLS':
      return tls?.mode === 'Passthrough' ? ['TLSRoute'] : [];
    default:
      return undefined;
  }
}

/** Listeners of a port must agree on this. */
const layerOf = ({ protocol }: GatewayListener): string => (protocol === 'HTTP' ? 'HTTP' : 'TLS');

/** Judges all listeners of a Gateway and of the ListenerSets that it allows. */
export function bindListeners(
  gateway: Gateway,
  address: OwnAddress,
  sets: readonly ListenerSet[],
  snapshot: GatewaySnapshot,
  grants: Grants,
): BoundListener[] {
  const own = gateway.listeners.map((listener) => ({ listener, owner: { kind: 'Gateway', meta: gateway.meta } as const }));
  const added = [...sets]
    .sort(byAge)
    .flatMap((set) => set.listeners.map((listener) => ({ listener, owner: { kind: 'ListenerSet', meta: set.meta } as const })));
  const rivals = Map.groupBy(
    own.map(({ listener }) => listener),
    ({ port }) => port,
  );
  const before = new Map<number, PortListeners>();
  return [...own, ...added].map(({ listener, owner }) => {
    const { port } = listener;
    const conflict =
      owner.kind === 'Gateway'
        ? conflictWith(listener, rivals.get(port)?.filter((one) => one !== listener) ?? [])
        : conflictWith(listener, rivalsOf(listener, before.get(port)));
    if (conflict === null) before.set(port, withListener(listener, before.get(port)));
    return bind(gateway, address, owner, listener, conflict, snapshot, grants);
  });
}

/** The listeners of a port that are not in conflict with each other: they have one layer, one TLS mode, and each host once. */
type PortListeners = {
  readonly first: GatewayListener;
  passing: GatewayListener | null;
  readonly byHost: Map<string | null, GatewayListener>;
};

function withListener(listener: GatewayListener, known: PortListeners | undefined): PortListeners {
  const on = known ?? { first: listener, passing: null, byHost: new Map() };
  if (listener.protocol === 'TLS') on.passing ??= listener;
  on.byHost.set(listener.hostname, listener);
  return on;
}

/** Those of them that a listener may be in conflict with: a Gateway may have tens of thousands in ListenerSets. */
const rivalsOf = ({ hostname }: GatewayListener, on: PortListeners | undefined): GatewayListener[] =>
  on === undefined ? [] : [on.first, on.passing ?? on.first, on.byHost.get(hostname) ?? on.first];

/** If two conflict, the one of the Gateway stays, or else the older one. If both are the Gateway's own, neither stays. */
function conflictWith(listener: GatewayListener, rivals: readonly GatewayListener[]): Verdict | null {
  for (const other of rivals) {
    if (layerOf(other) !== layerOf(listener))
      return fails('ProtocolConflict', `the listener ${other.name} has port ${listener.port} for ${other.protocol}`);
    if (other.protocol === 'TLS' && listener.protocol === 'TLS' && other.tls?.mode !== listener.tls?.mode)
      return fails('ProtocolConflict', `the listener ${other.name} has another TLS mode on port ${listener.port}`);
    if (other.hostname === listener.hostname && (other.protocol === listener.protocol || layerOf(listener) === 'TLS'))
      return fails('HostnameConflict', `the listener ${other.name} has ${listener.hostname ?? 'every host'} on port ${listener.port}`);
  }
  return null;
}

function bind(
  gateway: Gateway,
  address: OwnAddress,
  owner: ListenerOwner,
  listener: GatewayListener,
  conflict: Verdict | null,
  snapshot: GatewaySnapshot,
  grants: Grants,
): BoundListener {
  const supported = kindsOf(listener);
  const wanted = listener.kinds ?? (supported ?? []).map((kind) => ({ group: GATEWAY_GROUP, kind }));
  const kinds = (supported ?? []).filter((kind) => wanted.some((one) => one.group === GATEWAY_GROUP && one.kind === kind));
  const wrongKind = wanted.find(({ group, kind }) => group !== GATEWAY_GROUP || !kinds.includes(kind as RouteKind));
  const from: Referrer = { group: GATEWAY_GROUP, kind: owner.kind, namespace: owner.meta.namespace };
  const { verdict: certificates, secrets, certified } = certificatesOf(listener, from, snapshot.secrets, grants);
  const clients = clientsOf(gateway, listener, snapshot, grants);
  const accepted = conflict ?? protocolVerdict(listener, supported) ?? clients.accepted ?? holds('Accepted');
  const kindVerdict =
    wrongKind && supported !== undefined
      ? fails('InvalidRouteKinds', `${wrongKind.kind} does not go with the protocol ${listener.protocol} of this listener`)
      : null;
  const resolved = kindVerdict ?? certificates ?? clients.resolved ?? holds('ResolvedRefs');
  const needsCertificate = listener.protocol === 'HTTPS';
  return {
    ...{ gateway, owner, listener, kinds, accepted, resolved, conflict, secrets, certified },
    clientAuthorities: clients.pem,
    address: address.kind === 'one' ? address.address : null,
    isServed:
      address.kind !== 'none' && accepted.holds && (!needsCertificate || secrets.length > 0) && !(kinds.length === 0 && !resolved.holds),
  };
}

function protocolVerdict({ protocol, tls }: GatewayListener, supported: readonly RouteKind[] | undefined): Verdict | null {
  if (supported === undefined) return fails('UnsupportedProtocol', `${protocol} is not supported: HTTP, HTTPS and TLS are`);
  if (protocol === 'TLS' && tls?.mode !== 'Passthrough')
    return fails('UnsupportedValue', 'a TLS listener can only pass connections on: set tls.mode to Passthrough, or use HTTPS');
  if (protocol === 'HTTPS' && tls?.mode === 'Passthrough')
    return fails('UnsupportedValue', 'an HTTPS listener ends TLS: for connections that are passed on, use the protocol TLS');
  return null;
}

/** The Secrets that can be presented with the names in their certificates, and the reasons why others can't. */
function certificatesOf({ protocol, tls }: GatewayListener, from: Referrer, secrets: ReadonlyMap<string, TlsSecret>, grants: Grants) {
  const found: string[] = [];
  /** Those whose newest version is not valid: any that is comes before. */
  const earlier: string[] = [];
  const certified: string[] = [];
  let verdict: Verdict | null = null;
  if (protocol !== 'HTTPS' || tls === null || tls.mode !== 'Terminate') return { verdict, secrets: found, certified };
  for (const ref of tls.certificates) {
    const name = nameOf({ namespace: ref.namespace ?? from.namespace, name: ref.name });
    if (ref.kind !== 'Secret' || ref.group !== '')
      verdict ??= fails('InvalidCertificateRef', `${ref.kind} ${name}: only Secrets can be used`);
    else if (!grants.allows(from, ref)) verdict ??= fails('RefNotPermitted', `no ReferenceGrant allows the Secret ${name}`);
    else {
      const { certificate, fault } = readNamed(name, secrets.get(name));
      if (fault !== null) verdict ??= fails('InvalidCertificateRef', fault);
      if (certificate !== null) {
        (fault === null ? found : earlier).push(name);
        certified.push(...certificate.domains);
      }
    }
  }
  if (tls.certificates.length === 0) verdict = fails('InvalidCertificateRef', 'the listener names no certificate');
  return { verdict, secrets: [...found, ...earlier], certified };
}

/** The certificate that can be presented, and what is wrong with the Secret. */
function readNamed(name: string, secret: TlsSecret | undefined) {
  if (secret === undefined)
    return { certificate: null, fault: `the TLS Secret ${name} does not exist (its type must be kubernetes.io/tls)` };
  const [certificate, fault] = [usableCertificate(secret), faultOfSecret(secret)];
  const stays = certificate === null ? '' : `; ${EARLIER_STAYS}`;
  return { certificate, fault: fault === null ? null : `the Secret ${name}: ${fault}${stays}` };
}

const validationOf = ({ clientValidation, clientValidationByPort }: Gateway, port: number): ClientValidation | null =>
  clientValidationByPort.has(port) ? (clientValidationByPort.get(port) ?? null) : clientValidation;

/** What a listener requires of its clients. */
function clientsOf(
  gateway: Gateway,
  { protocol, port }: GatewayListener,
  { authorities }: GatewaySnapshot,
  grants: Grants,
): { readonly pem: string | null; readonly accepted: Verdict | null; readonly resolved: Verdict | null } {
  const validation = protocol === 'HTTPS' ? validationOf(gateway, port) : null;
  if (validation === null) return { pem: null, accepted: null, resolved: null };
  const from: Referrer = { group: GATEWAY_GROUP, kind: 'Gateway', namespace: gateway.meta.namespace };
  const found = readAuthorities(validation.authorities, from, grants, authorities);
  const failing = (reason: string, message: string) => ({
    ...{ pem: null, accepted: fails('NoValidCACertificate', message), resolved: fails(reason, message) },
  });
  if (!('pem' in found))
    return failing(
      { kind: 'InvalidCACertificateKind', missing: 'InvalidCACertificateRef', forbidden: 'RefNotPermitted' }[found.reason],
      found.message,
    );
  const read = readClientAuthorities(found.pem);
  if (!read.ok) return failing('InvalidCACertificateRef', `the authorities of client certificates: ${read.reason}`);
  return { pem: validation.isOptional ? null : read.value.text, accepted: null, resolved: null };
}

/** Whether an object in one namespace may attach to an object in another. */
export function allowsNamespace(filter: NamespaceFilter, own: string, other: string, namespaces: ReadonlyMap<string, Namespace>): boolean {
  switch (filter.from) {
    case 'All':
      return true;
    case 'Same':
      return own === other;
    case 'None':
      return false;
    case 'Selector':
      return selects(filter.selector, namespaces.get(`/${other}`)?.labels ?? {});
  }
}
