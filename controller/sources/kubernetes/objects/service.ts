import type { Resource } from '../api/resource.ts';
import { type Meta, type RawMeta, readMeta } from './meta.ts';

export type ServicePort = { readonly name: string; readonly port: number; readonly protocol: string; readonly appProtocol: string | null };

/** The parts of a Service that are used. */
export type Service = {
  readonly meta: Meta;
  readonly annotations: Readonly<Record<string, string>>;
  /** `ExternalName`: a name outside of the cluster. */
  readonly type: string;
  readonly ports: readonly ServicePort[];
};

type RawPort = { readonly name?: string; readonly port: number; readonly protocol?: string; readonly appProtocol?: string };
type RawService = { readonly metadata: RawMeta; readonly spec?: { readonly type?: string; readonly ports?: readonly RawPort[] } };

export const SERVICES: Resource<Service> = {
  name: 'services',
  kind: 'Service',
  api: '/api/v1',
  namespaced: true,
  read: ({ metadata, spec = {} }: RawService) => ({
    meta: readMeta(metadata),
    annotations: metadata.annotations ?? {},
    type: spec.type ?? 'ClusterIP',
    ports: (spec.ports ?? []).map(({ name = '', port, protocol = 'TCP', appProtocol = null }) => ({ name, port, protocol, appProtocol })),
  }),
};

/** One address behind a service. */
export type Endpoint = {
  readonly address: string;
  /** The uid of its pod; null if it has none. */
  readonly pod: string | null;
  /** Absent conditions have the defaults of the API: ready unless stated otherwise. */
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
};

/** A part of the endpoints of a service. */
export type EndpointSlice = {
  readonly meta: Meta;
  /** The service's name, in the same namespace; null if it belongs to none. */
  readonly service: string | null;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly appProtocol: string | null }[];
  readonly endpoints: readonly Endpoint[];
};

type RawEndpoint = {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean | null; readonly serving?: boolean | null; readonly terminating?: boolean | null };
  readonly targetRef?: { readonly kind?: string; readonly uid?: string };
};
type RawSlice = {
  readonly metadata: RawMeta;
  readonly addressType: string;
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string; readonly appProtocol?: string }[];
  readonly endpoints?: readonly RawEndpoint[];
};

export const ENDPOINT_SLICES: Resource<EndpointSlice> = {
  name: 'endpointslices',
  kind: 'EndpointSlice',
  api: '/apis/discovery.k8s.io/v1',
  namespaced: true,
  read: ({ metadata, addressType, ports, endpoints }: RawSlice) => ({
    meta: readMeta(metadata),
    service: metadata.labels?.['kubernetes.io/service-name'] ?? null,
    ports: (ports ?? []).flatMap(({ name = '', port, protocol = 'TCP', appProtocol = null }) =>
      port === undefined || protocol !== 'TCP' ? [] : [{ name, port, appProtocol }],
    ),
    // Names instead of addresses are deprecated, and there is no control over which names may be used.
    endpoints: addressType === 'FQDN' ? [] : (endpoints ?? []).flatMap((endpoint) => readEndpoint(endpoint, addressType === 'IPv6')),
  }),
};

function readEndpoint({ addresses = [], conditions, targetRef }: RawEndpoint, isIpv6: boolean): Endpoint[] {
  // The first is used: all of them are the same endpoint.
  const [address] = addresses;
  if (address === undefined) return [];
  const ready = conditions?.ready ?? true;
  const terminating = conditions?.terminating ?? false;
  const pod = targetRef?.kind === 'Pod' ? (targetRef.uid ?? null) : null;
  return [{ address: isIpv6 ? `[${address}]` : address, pod, ready, serving: conditions?.serving ?? ready, terminating }];
}
