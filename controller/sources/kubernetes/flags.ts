import { NAME } from '../../../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';

export type KubernetesSettings = {
  /** The path of a kubeconfig; null: the account of this pod, or in its absence KUBECONFIG and the user's own. */
  readonly kubeconfig: string | null;
  /** The name of the IngressClass to serve. */
  readonly ingressClass: string;
  /** null: all. */
  readonly namespaces: readonly string[] | null;
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
  { name: 'publish-address', placeholder: 'ADDRESS[,ADDRESS…]', help: 'addresses that Ingresses report', unavailable: true },
  { name: 'publish-service', placeholder: 'NAMESPACE/NAME', help: 'Service whose addresses Ingresses report', unavailable: true },
];

/** @returns null if no cluster is watched. @throws UsageError. */
export function kubernetesSettings(command: string, { given }: Flags): KubernetesSettings | null {
  const flagOf = <T>(name: string): T | undefined => given.get(name)?.value as T | undefined;
  if (flagOf<boolean>('kubernetes') !== true) {
    const useless = ['kubeconfig', 'ingress-class', 'namespaces'].find((name) => given.get(name)?.origin === 'flag');
    if (useless !== undefined) throw new UsageError(`${NAME} ${command}: --${useless} needs --kubernetes`);
    return null;
  }
  return {
    kubeconfig: flagOf<string>('kubeconfig') ?? null,
    ingressClass: flagOf<string>('ingress-class') ?? NAME,
    namespaces: flagOf<readonly string[]>('namespaces') ?? null,
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
