import { isIP } from 'node:net';
import { canonicalIp } from '../../../../shared/values/ip-address.ts';
import type { Resource } from '../api/resource.ts';
import { type RawMeta, readMeta } from '../objects/meta.ts';
import { Reflector, type ReflectorOptions } from '../watch/reflector.ts';
import type { Publish, PublishedAddress } from './desired-status.ts';

type Entry = { readonly ip?: string; readonly hostname?: string };
type RawService = {
  readonly metadata: RawMeta;
  readonly spec?: {
    readonly type?: string;
    readonly externalIPs?: readonly string[];
    readonly externalName?: string;
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
  };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly Entry[] } };
};

/** The addresses under which clients reach a Service; null while its load balancer has none yet. */
export function addressesOfService({ spec = {}, status }: RawService): readonly PublishedAddress[] | null {
  const entries = (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
  const { type, externalIPs = [], externalName = '', clusterIP = '', clusterIPs = [clusterIP] } = spec;
  const own = type === 'ExternalName' ? [externalName] : clusterIPs.filter((address) => address !== 'None');
  const found = entries.length > 0 ? entries : externalIPs.length > 0 ? externalIPs : type === 'LoadBalancer' ? [] : own;
  const values = [...new Set(found.filter((value) => value !== '').map(canonicalIp))].sort();
  return values.length === 0 ? null : values.map((value) => ({ kind: isIP(value) === 0 ? 'hostname' : 'ip', value }));
}

const resourceOf = (name: string): Resource<{ readonly addresses: readonly PublishedAddress[] | null }> => ({
  name: 'services',
  kind: 'Service',
  api: '/api/v1',
  namespaced: true,
  fieldSelector: `metadata.name=${name}`,
  read: (service: RawService) => ({ meta: readMeta(service.metadata), addresses: addressesOfService(service) }),
});

type ReflectorTools = Pick<ReflectorOptions<never>, 'cluster' | 'clock' | 'random' | 'log'>;

/** Where visitors reach the data planes. */
export class PublishedAddresses {
  private readonly publish: Publish | null;
  private readonly reflector: Reflector<{ readonly addresses: readonly PublishedAddress[] | null }> | undefined;

  constructor(publish: Publish | null, parts: ReflectorTools, changed: () => void) {
    this.publish = publish;
    if (publish?.kind !== 'service') return;
    const resource = resourceOf(publish.name);
    let lastReason: string | null = null;
    const failed = (reason: string | null) => {
      if (reason !== null && reason !== lastReason)
        parts.log.warn({ reason }, 'the service of --publish-service cannot be read; trying again');
      lastReason = reason;
    };
    this.reflector = new Reflector({ ...parts, resource, namespace: publish.namespace, changed, failed });
  }

  /** null while they are unknown; statuses that were written before remain. */
  list(): readonly PublishedAddress[] | null {
    if (this.publish === null) return [];
    if (this.publish.kind === 'addresses') return this.publish.addresses;
    const [service] = this.reflector?.objects.values() ?? [];
    return service?.addresses ?? null;
  }

  /** Why they are unknown. */
  problem(): string | null {
    if (this.publish?.kind !== 'service' || !this.reflector?.synced || this.list() !== null) return null;
    const { namespace, name } = this.publish;
    const why = this.reflector.objects.size === 0 ? 'does not exist' : 'has no address yet';
    return `the service ${namespace}/${name} of --publish-service ${why}; Ingresses keep the addresses that they report`;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.reflector?.run(signal);
  }
}
