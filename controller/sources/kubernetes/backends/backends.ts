import { MAX_TARGETS } from '../../../../shared/limits.ts';
import type { HandleSpec, RouteInput } from '../../../../shared/route.ts';
import type { BackendRef } from '../objects/ingress.ts';
import { nameOf } from '../objects/meta.ts';
import { isSameList } from '../objects/same-list.ts';
import type { Endpoint, EndpointSlice, Service, ServicePort } from '../objects/service.ts';

type Upstreams = NonNullable<RouteInput['upstreams']>;

/** The targets behind a port of a service. If there are none, `reason` says why. */
export type Backend = {
  readonly upstreams: Upstreams;
  readonly tls: boolean;
  readonly transport: HandleSpec['transport'];
  /** null if a target can get requests. */
  readonly reason: string | null;
  /** Whether the object that names the backend is wrong, or what it names does not exist. */
  readonly isMissing: boolean;
};

/** A backend without targets, because of a mistake or because something does not exist. */
export const missing = (reason: string): Backend => ({ upstreams: [], tls: false, transport: undefined, reason, isMissing: true });

/** By `NAMESPACE/NAME`. */
type Objects = { readonly services: ReadonlyMap<string, Service>; readonly slices: ReadonlyMap<string, EndpointSlice> };

/** Finds the targets of backends; each pair of service and port once. */
export class Backends {
  private readonly services: ReadonlyMap<string, Service>;
  private readonly slices: ReadonlyMap<string, readonly EndpointSlice[]>;
  private readonly known = new Map<string, Backend>();

  constructor({ services, slices }: Objects) {
    this.services = services;
    const byService = new Map<string, EndpointSlice[]>();
    for (const slice of slices.values()) {
      if (slice.service === null) continue;
      const key = `${slice.meta.namespace}/${slice.service}`;
      const list = byService.get(key);
      if (list) list.push(slice);
      else byService.set(key, [slice]);
    }
    for (const list of byService.values()) if (list.length > 1) list.sort((a, b) => (nameOf(a.meta) < nameOf(b.meta) ? -1 : 1));
    this.slices = byService;
  }

  /** `ref` is null for an object of a kind that is not supported. */
  resolve(namespace: string, ref: BackendRef | null): Backend {
    if (ref === null) return missing('its backend is not a service, which is the only kind that is supported');
    const key = `${namespace}/${ref.service} ${ref.port}`;
    const known = this.known.get(key);
    if (known) return known;
    const backend = this.find(namespace, ref);
    this.known.set(key, backend);
    return backend;
  }

  private find(namespace: string, { service: name, port: wanted }: BackendRef): Backend {
    const key = `${namespace}/${name}`;
    const service = this.services.get(key);
    if (service === undefined) return missing(`the service ${key} does not exist`);
    // Anyone who may create a service could otherwise reach everything that the proxy can, under a name of their choice.
    if (service.type === 'ExternalName') return missing(`the service ${key} is an ExternalName, which is not supported`);
    const port = portOf(service, wanted);
    if (port === undefined) return missing(`the service ${key} has no port ${wanted} (it has ${portsOf(service)})`);
    if (port.protocol !== 'TCP') return missing(`the port ${wanted} of the service ${key} is ${port.protocol}, not TCP`);
    return knownTargets(key, port, this.slices.get(key) ?? []);
  }
}

/** The targets of a port in an earlier snapshot, whose services and slices are the same objects unless they have changed. */
const known = new WeakMap<ServicePort, { readonly slices: readonly EndpointSlice[]; readonly backend: Backend }>();

function knownTargets(service: string, port: ServicePort, slices: readonly EndpointSlice[]): Backend {
  const before = known.get(port);
  if (before && isSameList(before.slices, slices)) return before.backend;
  const backend = targetsOf(service, port, slices);
  known.set(port, { slices, backend });
  return backend;
}

/** A number may stand for two ports, one of them for UDP, as with HTTP/3. */
export function portOf({ ports }: Service, wanted: string | number): ServicePort | undefined {
  const found = ports.filter(({ name, port }) => (typeof wanted === 'number' ? port === wanted : name === wanted));
  return found.find(({ protocol }) => protocol === 'TCP') ?? found[0];
}

const portsOf = ({ ports }: Service): string =>
  ports.length === 0 ? 'none' : ports.map(({ name, port }) => (name === '' ? `${port}` : `${port} "${name}"`)).join(', ');

function targetsOf(service: string, { name, appProtocol }: ServicePort, slices: readonly EndpointSlice[]): Backend {
  const found = new Map<string, Endpoint>();
  let protocol = appProtocol;
  for (const slice of slices)
    for (const port of slice.ports) {
      if (port.name !== name) continue;
      protocol ??= port.appProtocol;
      for (const endpoint of slice.endpoints) {
        const address = `${endpoint.address}:${port.port}`;
        // An endpoint may be in two slices for a moment.
        if (!found.get(address)?.ready) found.set(address, endpoint);
      }
    }
  const endpoints = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_TARGETS);
  const isAnyReady = endpoints.some(([, { ready }]) => ready);
  const upstreams = endpoints.map(([address, endpoint]) => ({
    address,
    ...(endpoint.pod !== null && { id: endpoint.pod }),
    state: stateOf(endpoint, isAnyReady),
  }));
  const isUsable = upstreams.some(({ state }) => state === 'healthy');
  const why = endpoints.length === 0 ? 'has no endpoints' : 'has no endpoint that is ready';
  return { upstreams, ...protocolOf(protocol), reason: isUsable ? null : `the service ${service} ${why}`, isMissing: false };
}

/** If nothing is ready, terminating endpoints that still serve are used. Endpoints that the cluster calls ready need no probe. */
function stateOf({ ready, serving, terminating }: Endpoint, isAnyReady: boolean): 'healthy' | 'draining' | 'unhealthy' {
  if (ready) return 'healthy';
  if (!terminating) return 'unhealthy';
  return serving && !isAnyReady ? 'healthy' : 'draining';
}

function protocolOf(name: string | null): Pick<Backend, 'tls' | 'transport'> {
  switch (name?.toLowerCase()) {
    case 'kubernetes.io/h2c':
    case 'h2c':
    case 'grpc':
      return { tls: false, transport: { protocol: 'h2c' } };
    case 'https':
    case 'kubernetes.io/wss':
      return { tls: true, transport: undefined };
    default:
      return { tls: false, transport: undefined };
  }
}
