import { covers } from '../../../../shared/certificates/certificate-names.ts';
import { CLUSTER_PREFIX, INGRESS_CONTROLLER } from '../../../../shared/name.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import { CATCH_ALL, type Domain, parseDomain } from '../../../../shared/values/host.ts';
import { type LabelForm, readLabels } from '../../labels/read-labels.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Ingress, IngressPath } from '../objects/ingress.ts';
import type { Backends } from './backends.ts';
import { type Claim, type HostTls, type Owner, type PathMatch, problemOf, type Request } from './claim.ts';
import type { ClusterSnapshot } from './cluster-snapshot.ts';

const LEGACY_CLASS = 'kubernetes.io/ingress.class';
const ANNOTATIONS: LabelForm = { prefix: CLUSTER_PREFIX, needsDomain: false };
/** What the rest of an Ingress says. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['domain', 'the hosts are in spec.rules'],
  ['port', 'the port is in the backend'],
  ['network', 'it is for containers'],
  ['weight', 'it is for containers'],
  ['tls', 'it is in spec.tls'],
]);

/** Whether an Ingress is for the class that is served, which may be the cluster's default. */
export function isOurs(
  { className, annotations }: Ingress,
  { classes, ingressClass }: Pick<ClusterSnapshot, 'classes' | 'ingressClass'>,
): boolean {
  const ours = classes.get(`/${ingressClass}`);
  // Another controller's class of the same name.
  if (ours !== undefined && ours.controller !== INGRESS_CONTROLLER) return false;
  const named = className ?? annotations[LEGACY_CLASS];
  return named === undefined ? ours?.isDefault === true : named === ingressClass;
}

/** What an Ingress requests. With wrong annotations, what it requested when they were right. */
export function requestOf(ingress: Ingress, before: Ingress | undefined, backends: Backends): Request {
  const { owner, members, reasons, problems } = annotationsOf(ingress);
  const hosts = [...new Set(ingress.rules.map(({ host }) => host ?? CATCH_ALL))];
  if (reasons.length === 0) {
    const claims = claimsOf(ingress, owner, members, backends, problems);
    return { owner, claims, problems, reasons, hosts };
  }
  const stays = before === undefined ? '' : '; it keeps its last good version';
  for (const reason of reasons) problems.push(problemOf(owner, hosts[0] ?? null, 'bad_annotation', reason + stays));
  const claims = before === undefined ? [] : claimsOf(before, owner, annotationsOf(before).members, backends, []);
  return { owner, claims, problems, reasons: reasons.map((reason) => reason + stays), hosts };
}

function annotationsOf({ meta, annotations }: Ingress) {
  const owner: Owner = { kind: 'ingress', meta };
  const { sites, bad, warnings } = readLabels(annotations, ANNOTATIONS);
  const problems: UndatedProblem[] = warnings.map(({ code, message }) => problemOf(owner, null, code, message));
  const reasons = bad.flatMap((site) => site.reasons);
  for (const name of Object.keys(annotations)) {
    const why = name.startsWith(CLUSTER_PREFIX) ? ELSEWHERE.get(name.slice(CLUSTER_PREFIX.length)) : undefined;
    if (why !== undefined) reasons.push(`${name} does not apply to an Ingress: ${why}`);
  }
  const named = sites.find(({ site }) => site !== null);
  if (named) reasons.push(`${CLUSTER_PREFIX}${named.site}.* names a second site, which an Ingress does not have`);
  const members: RouteDraft = sites[0]?.members ?? {};
  return { owner, members, reasons, problems };
}

function claimsOf(ingress: Ingress, owner: Owner, members: RouteDraft, backends: Backends, problems: UndatedProblem[]): Claim[] {
  const { rules, defaultBackend, meta } = ingress;
  const claims: Claim[] = [];
  const hosts = new Map<Domain, HostTls>();
  for (const { host: text, paths } of rules) {
    const host = text === null ? { ok: true as const, value: CATCH_ALL } : parseDomain(text);
    if (!host.ok) {
      problems.push(problemOf(owner, text, 'bad_host', `${text}: ${host.reason}`));
      continue;
    }
    const https = tlsOf(ingress, host.value);
    hosts.set(host.value, https);
    for (const path of paths) {
      const match = matchOf(path);
      if ('reason' in match) {
        problems.push(problemOf(owner, host.value, 'bad_path', match.reason));
        continue;
      }
      const backend = backends.resolve(meta.namespace, path.backend);
      if (backend.isMissing) problems.push(problemOf(owner, host.value, 'no_backend', `${path.path}: ${backend.reason}`));
      claims.push({ owner, host: host.value, path: match, backend, members, https });
    }
  }
  if (defaultBackend !== undefined) {
    const backend = backends.resolve(meta.namespace, defaultBackend);
    if (backend.isMissing) problems.push(problemOf(owner, null, 'no_backend', `the default backend: ${backend.reason}`));
    hosts.set(CATCH_ALL, hosts.get(CATCH_ALL) ?? tlsOf(ingress, CATCH_ALL));
    for (const [host, https] of hosts) claims.push({ owner, host, path: { kind: 'default' }, backend, members, https });
  }
  return claims;
}

/** Patterns of ours have `*`; a path of an Ingress is text, and means what it says. */
function matchOf({ path, type }: IngressPath): PathMatch | { readonly reason: string } {
  const isPattern = type === 'ImplementationSpecific' && path.endsWith('/*');
  const plain = isPattern ? path.slice(0, -2) : path;
  if (plain.includes('*')) return { reason: `${path}: a path with * can't be matched; write pathType: Prefix and the path before it` };
  if (type === 'Exact') return { kind: 'exact', path };
  return { kind: 'prefix', path: plain.replace(/\/+$/, '') || '/' };
}

/** The first entry of `tls` for a host; one without hosts is for all of them. */
function tlsOf({ tls, meta }: Ingress, host: Domain): HostTls {
  const entry = tls.find(
    ({ hosts }) =>
      hosts.length === 0 ||
      covers(
        hosts.map((one) => one.toLowerCase()),
        host,
      ) ||
      hosts.includes(host),
  );
  if (entry === undefined) return { kind: 'off' };
  return entry.secret === null ? { kind: 'auto' } : { kind: 'secret', namespace: meta.namespace, secret: entry.secret };
}
