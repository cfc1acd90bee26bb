import { CLUSTER_PREFIX } from '../../../../shared/name.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import { splitAddress } from '../../../../shared/values/address.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import type { Backends } from '../backends/backends.ts';
import type { Service } from '../objects/service.ts';

type ForwardAuth = NonNullable<RouteDraft['forward_auth']>;

/** On a Service: the namespaces whose Ingresses may use it for forward authentication; `*` means all. */
const ALLOWS_FROM = `${CLUSTER_PREFIX}forward_auth_from`;

/** `SERVICE`, `SERVICE.NAMESPACE`, or that followed by what the cluster's DNS adds. */
const NAME = /^([a-z0-9-]+)(?:\.([a-z0-9-]+)(?:\.svc(?:\.cluster\.local)?)?)?$/;

/**
 * The addresses of an authentication server in a cluster, which is named as `SERVICE[.NAMESPACE]:PORT`. Other addresses are rejected,
 * because anyone who may create an Ingress could otherwise send requests to everything that the proxy can reach. For the same reason, a
 * Service of another namespace has to allow it.
 */
export function authServerOf(
  auth: ForwardAuth,
  namespace: string,
  services: ReadonlyMap<string, Service>,
  backends: Backends,
): Parsed<ForwardAuth> {
  const upstreams: ForwardAuth['upstreams'] = [];
  for (const upstream of auth.upstreams) {
    const { host, port } = splitAddress(upstream);
    const [, service, where = namespace] = NAME.exec(host) ?? [];
    if (service === undefined) return refused(`forward_auth ${upstream}: it is not SERVICE:PORT or SERVICE.NAMESPACE:PORT`);
    const name = `${where}/${service}`;
    const found = services.get(name);
    if (found !== undefined && where !== namespace && !allows(found, namespace))
      return refused(
        `forward_auth ${upstream}: the service ${name} needs the annotation ${ALLOWS_FROM}=${namespace} to be asked from there`,
      );
    const backend = backends.resolve(where, { service, port: Number(port) });
    if (backend.isMissing) return refused(`forward_auth ${upstream}: ${backend.reason}`);
    upstreams.push(
      ...backend.upstreams.flatMap(({ address, state }) => (state === 'healthy' ? [address as (typeof upstreams)[number]] : [])),
    );
  }
  const [first] = auth.upstreams;
  return upstreams.length === 0 ? refused(`forward_auth ${first}: no endpoint of the service is ready`) : accepted({ ...auth, upstreams });
}

const allows = ({ annotations }: Service, namespace: string): boolean =>
  (annotations[ALLOWS_FROM] ?? '').split(',').some((one) => one.trim() === '*' || one.trim() === namespace);
