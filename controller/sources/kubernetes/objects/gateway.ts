import { canonicalIp } from '../../../../shared/values/ip-address.ts';
import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';
import { GATEWAY_API, GATEWAY_GROUP, type ObjectRef, type RawRef, readRef } from './object-ref.ts';
import { type RawSelector, readSelector, type Selector } from './selector.ts';

/**
 * A GatewayClass: which controller serves the Gateways that name it. `hasParameters`: whether it refers to parameters, for which no kind of object
 * is supported.
 */
export type GatewayClass = { readonly meta: Meta; readonly controller: string; readonly hasParameters: boolean };

/** Which namespaces may attach objects. */
export type NamespaceFilter =
  | { readonly from: 'All' | 'Same' | 'None' }
  | {
      readonly from: 'Selector';
      readonly selector: Selector;
    };

/** How the connections of a listener are encrypted. */
export type ListenerTls = { readonly mode: 'Terminate' | 'Passthrough'; readonly certificates: readonly ObjectRef[] };

/** A listener of a Gateway or a ListenerSet. */
export type GatewayListener = {
  readonly name: string;
  /** In lower case; null is every host. */
  readonly hostname: string | null;
  readonly port: number;
  readonly protocol: string;
  readonly tls: ListenerTls | null;
  readonly namespaces: NamespaceFilter;
  /** null: those that fit the protocol. */
  readonly kinds: readonly { readonly group: string; readonly kind: string }[] | null;
};

/** How clients are verified by certificates. */
export type ClientValidation = { readonly authorities: readonly ObjectRef[]; readonly isOptional: boolean };

/** The parts of a Gateway (gateway.networking.k8s.io/v1) that are used. */
export type Gateway = {
  readonly meta: Meta;
  readonly className: string;
  readonly listeners: readonly GatewayListener[];
  /** The addresses that it requests; an empty value is any of the type. */
  readonly addresses: readonly { readonly type: string; readonly value: string }[];
  /** The addresses in its status. */
  readonly reported: readonly string[];
  readonly allowedListeners: NamespaceFilter;
  /** Whether it refers to parameters of its own, for which no kind of object is supported. */
  readonly hasParameters: boolean;
  readonly clientValidation: ClientValidation | null;
  readonly clientValidationByPort: ReadonlyMap<number, ClientValidation | null>;
};

/** More listeners for a Gateway, in an object of their own. */
export type ListenerSet = {
  readonly meta: Meta;
  readonly parent: ObjectRef;
  readonly listeners: readonly GatewayListener[];
};

type RawNamespaces = { readonly from?: string; readonly selector?: RawSelector };
type RawListener = {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: { readonly mode?: ListenerTls['mode']; readonly certificateRefs?: readonly RawRef[] };
  readonly allowedRoutes?: {
    readonly namespaces?: RawNamespaces;
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
};
type RawValidation = {
  readonly validation?: { readonly caCertificateRefs: readonly RawRef[]; readonly mode?: string };
};
type RawGateway = {
  readonly metadata: RawMeta;
  readonly status?: { readonly addresses?: readonly { readonly value: string }[] };
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners?: readonly RawListener[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly allowedListeners?: { readonly namespaces?: RawNamespaces };
    readonly infrastructure?: { readonly parametersRef?: unknown };
    readonly tls?: {
      readonly frontend?: {
        readonly default?: RawValidation;
        readonly perPort?: readonly { readonly port: number; readonly tls: RawValidation }[];
      };
    };
  };
};

function readNamespaces({ from, selector }: RawNamespaces, usual: 'Same' | 'None'): NamespaceFilter {
  if (from === 'Selector') return { from, selector: readSelector(selector ?? {}) };
  return { from: from === 'All' || from === 'Same' || from === 'None' ? from : usual };
}

const readListener = ({ name, hostname = '', port, protocol, tls, allowedRoutes = {} }: RawListener): GatewayListener => ({
  name,
  hostname: hostname === '' ? null : hostname.toLowerCase(),
  port,
  protocol,
  tls: tls ? { mode: tls.mode ?? 'Terminate', certificates: (tls.certificateRefs ?? []).map((ref) => readRef(ref, 'Secret')) } : null,
  namespaces: readNamespaces(allowedRoutes.namespaces ?? {}, 'Same'),
  kinds: allowedRoutes.kinds?.map(({ group = GATEWAY_GROUP, kind }) => ({ group, kind })) ?? null,
});

const readValidation = ({ validation }: RawValidation): ClientValidation | null =>
  validation
    ? {
        authorities: validation.caCertificateRefs.map((ref) => readRef(ref, 'ConfigMap')),
        isOptional: validation.mode === 'AllowInsecureFallback',
      }
    : null;

export const GATEWAY_CLASSES: Resource<GatewayClass> = {
  name: 'gatewayclasses',
  kind: 'GatewayClass',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: false,
  optional: true,
  read: ({ metadata, spec }: { metadata: RawMeta; spec: { controllerName: string; parametersRef?: unknown } }) => ({
    meta: readMeta(metadata),
    controller: spec.controllerName,
    hasParameters: spec.parametersRef !== undefined,
  }),
};

export const GATEWAYS: Resource<Gateway> = {
  name: 'gateways',
  kind: 'Gateway',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: ({ metadata, spec, status }: RawGateway) => ({
    meta: readMeta(metadata),
    className: spec.gatewayClassName,
    listeners: (spec.listeners ?? []).map(readListener),
    addresses: (spec.addresses ?? []).map(({ type = 'IPAddress', value = '' }) => ({ type, value: canonicalIp(value) })),
    reported: (status?.addresses ?? []).map(({ value }) => canonicalIp(value)),
    allowedListeners: readNamespaces(spec.allowedListeners?.namespaces ?? {}, 'None'),
    hasParameters: spec.infrastructure?.parametersRef !== undefined,
    clientValidation: readValidation(spec.tls?.frontend?.default ?? {}),
    clientValidationByPort: new Map((spec.tls?.frontend?.perPort ?? []).map(({ port, tls }) => [port, readValidation(tls)])),
  }),
};

export const LISTENER_SETS: Resource<ListenerSet> = {
  name: 'listenersets',
  kind: 'ListenerSet',
  hasStatus: true,
  api: GATEWAY_API,
  namespaced: true,
  optional: true,
  read: ({ metadata, spec }: { metadata: RawMeta; spec: { parentRef: RawRef; listeners: readonly RawListener[] } }) => ({
    meta: readMeta(metadata),
    parent: readRef({ group: GATEWAY_GROUP, ...spec.parentRef }, 'Gateway'),
    listeners: spec.listeners.map(readListener),
  }),
};
