import { isIP } from 'node:net';
import { NAME } from '../../../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import { canonicalIp } from '../../../shared/values/ip-address.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { readPort } from '../../../shared/values/port.ts';
import type { PortMap } from './gateway/port-map.ts';
import type { Publish, PublishedAddress } from './status/desired-status.ts';

export type KubernetesSettings = {
  /** The path of a kubeconfig; null: the account of this pod, or in its absence KUBECONFIG and the user's own. */
  readonly kubeconfig: string | null;
  /** The name of the IngressClass to serve. */
  readonly ingressClass: string;
  /** null: all. */
  readonly namespaces: readonly string[] | null;
  /** The source of the addresses that Ingresses and Gateways report; null: none are reported. */
  readonly publish: Publish | null;
  /** Maps a port of a Gateway to the port of the data plane at which its connections arrive; ports that are absent are the same on both. */
  readonly portMap: PortMap;
};

export const KUBERNETES_FLAGS: readonly Flag[] = [
  { name: 'kubernetes', kind: 'switch', help: 'discover Ingresses and annotated Services in a cluster' },
  {
    name: 'kubeconfig',
    placeholder: 'PATH',
    help: 'how to reach the cluster',
    default: "the pod's service account, else KUBECONFIG, else ~/.kube/config",
  },
  { name: 'ingress-class', placeholder: 'NAME', help: 'IngressClass to serve', default: NAME, parse: parseName },
  { name: 'namespaces', placeholder: 'NAME[,NAME…]', help: 'namespaces to watch', default: 'all', parse: parseNamespaces },
  {
    name: 'publish-address',
    placeholder: 'ADDRESS[,ADDRESS…]',
    help: 'addresses and host names that Ingresses and Gateways report',
    default: 'none',
    parse: parseAddresses,
  },
  {
    name: 'publish-service',
    placeholder: 'NAMESPACE/NAME',
    help: 'Service whose addresses Ingresses and Gateways report, instead of fixed ones',
    default: 'none',
    parse: parseService,
  },
  {
    name: 'port-map',
    placeholder: 'PORT:PORT[,…]',
    help: 'the ports of the data plane that belong to ports of Gateways, such as 80:8080',
    default: 'the same ports',
    parse: parsePortMap,
  },
];

/** @returns null if no cluster is watched. @throws UsageError. */
export function kubernetesSettings(command: string, { given }: Flags): KubernetesSettings | null {
  const flagOf = <T>(name: string): T | undefined => given.get(name)?.value as T | undefined;
  if (flagOf<boolean>('kubernetes') !== true) {
    const useless = KUBERNETES_FLAGS.find(({ name }) => given.get(name)?.origin === 'flag')?.name;
    if (useless !== undefined) throw new UsageError(`${NAME} ${command}: --${useless} needs --kubernetes`);
    return null;
  }
  const addresses = flagOf<readonly PublishedAddress[]>('publish-address');
  const service = flagOf<{ namespace: string; name: string }>('publish-service');
  if (addresses && service) throw new UsageError(`${NAME} ${command}: --publish-address and --publish-service exclude each other`);
  return {
    kubeconfig: flagOf<string>('kubeconfig') ?? null,
    ingressClass: flagOf<string>('ingress-class') ?? NAME,
    namespaces: flagOf<readonly string[]>('namespaces') ?? null,
    publish: addresses ? { kind: 'addresses', addresses } : service ? { kind: 'service', ...service } : null,
    portMap: flagOf<PortMap>('port-map') ?? new Map(),
  };
}

/** RFC 1123. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

function parseName(text: string): Parsed<string> {
  return SUBDOMAIN.test(text) ? accepted(text) : refused('a name is lower-case letters, digits, dots and hyphens');
}

function parseNamespaces(text: string): Parsed<readonly string[]> {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const wrong = names.find((name) => !LABEL.test(name));
  return wrong === undefined ? accepted(names) : refused(`"${wrong}" is not the name of a namespace`);
}

function parseAddresses(text: string): Parsed<readonly PublishedAddress[]> {
  const values = [...new Set(text.split(',').map((value) => canonicalIp(value.trim().toLowerCase())))].sort();
  const wrong = values.find((value) => isIP(value) === 0 && !SUBDOMAIN.test(value));
  if (wrong !== undefined) return refused(`"${wrong}" is neither an IP address nor a host name`);
  return accepted(values.map((value) => ({ kind: isIP(value) === 0 ? 'hostname' : 'ip', value })));
}

function parseService(text: string): Parsed<{ readonly namespace: string; readonly name: string }> {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (!LABEL.test(namespace) || !LABEL.test(name) || rest.length > 0) return refused('a Service is NAMESPACE/NAME');
  return accepted({ namespace, name });
}

function parsePortMap(text: string): Parsed<PortMap> {
  const map = new Map<number, number>();
  for (const pair of text.split(',')) {
    const [from, to, ...rest] = pair.split(':').map((port) => readPort(port.trim()));
    if (!from?.ok || !to?.ok || rest.length > 0) return refused(`"${pair}" is not two ports such as 80:8080`);
    if (map.has(from.value)) return refused(`it names the port ${from.value} twice`);
    map.set(from.value, to.value);
  }
  return accepted(map);
}
