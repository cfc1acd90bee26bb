import { INGRESS_CONTROLLER } from '../../../../shared/name.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import { CATCH_ALL, type Domain, parseDomain, wildcardOf } from '../../../../shared/values/host.ts';
import { accepted, type Parsed } from '../../../../shared/values/parsed.ts';
import { withoutEndSlashes } from '../../../../shared/values/path.ts';
import { createRouteReader } from '../../route-reader.ts';
import type { UndatedProblem } from '../../source.ts';
import { annotationsOf } from '../annotations/ingress-annotations.ts';
import { protectionOf } from '../annotations/protection.ts';
import { type Backend, type Backends, missing } from '../backends/backends.ts';
import type { Ingress, IngressPath } from '../objects/ingress.ts';
import { type Owner, problemOf } from '../objects/owner.ts';
import { isSameList } from '../objects/same-list.ts';
import type { HostTls, PathClaim, PathMatch, Request } from './claim.ts';
import type { ClusterSnapshot } from './cluster-snapshot.ts';
import { routeOfHost } from './host-route.ts';

const LEGACY_CLASS = 'kubernetes.io/ingress.class';
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

type Objects = Pick<ClusterSnapshot, 'services' | 'users' | 'readDirective'>;

const NO_MEMBERS: RouteDraft = {};

/**
 * What an Ingress requests. If its annotations are invalid, what it requested when they were last valid. If they never were, its paths answer
 * 503: their requests must not get to a less specific path of another Ingress, without the protection that the annotations may be.
 */
export function requestOf(ingress: Ingress, before: Ingress | undefined, objects: Objects, backends: Backends): Request {
  const owner: Owner = { kind: 'ingress', meta: ingress.meta };
  const { reasons, warnings } = annotationsOf(ingress, objects.readDirective);
  const problems: UndatedProblem[] = warnings.map(({ code, message }) => problemOf(owner, null, code, message));
  const named = ingress.rules.map(({ host }) => host ?? CATCH_ALL);
  const hosts = [...new Set(ingress.defaultBackend === undefined ? named : [...named, CATCH_ALL])];
  if (reasons.length === 0) {
    const claims = protectedClaims(ingress, owner, objects, backends, problems);
    return { owner, claims, problems, reasons, hosts, isRefused: false };
  }
  const isRefused = before === undefined;
  const stays = isRefused ? '; its paths answer 503 until then' : '; it keeps its last good version';
  for (const reason of reasons) problems.push(problemOf(owner, hosts[0] ?? null, 'bad_annotation', reason + stays));
  const closed = missing(reasons[0] ?? 'its annotations are not valid');
  const claims = isRefused
    ? claimsOf(ingress, owner, NO_MEMBERS, backends, []).map((claim) => ({ ...claim, backend: closed, isRefused }))
    : protectedClaims(before, owner, objects, backends, []);
  return { owner, claims, problems, reasons: reasons.map((reason) => reason + stays), hosts, isRefused };
}

/** If access can't be decided, every path answers 503. */
function protectedClaims(ingress: Ingress, owner: Owner, objects: Objects, backends: Backends, problems: UndatedProblem[]): PathClaim[] {
  const { members, closed } = protectionOf(annotationsOf(ingress, objects.readDirective), ingress.meta, objects, backends);
  const claims = claimsOf(ingress, owner, members, backends, problems);
  if (closed === null) return claims.map((claim) => withUsableMembers(ingress, claim, problems));
  problems.push(problemOf(owner, claims[0]?.host ?? null, 'no_authentication', `${closed}; its paths answer 503 until then`));
  return claims.map((claim) => ({ ...claim, backend: missing(closed) }));
}

/** What is wrong with the annotations of an Ingress for a kind of backend. Each version of it is examined once. */
const contradictions = new WeakMap<Ingress, Map<string, string | null>>();

function contradictionOf(ingress: Ingress, claim: PathClaim): string | null {
  if (Object.keys(claim.members).length === 0) return null;
  const known = contradictions.get(ingress) ?? new Map<string, string | null>();
  contradictions.set(ingress, known);
  const { tls, transport, upstreams } = claim.backend;
  const key = JSON.stringify([tls, transport, upstreams.length > 0]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const route = createRouteReader().read(routeOfHost([claim], 'off'));
  const reason = 'domain' in route ? null : route.reason;
  known.set(key, reason);
  return reason;
}

/**
 * Annotations that are valid by themselves may contradict each other, or those of the Service. That must not affect others that share the
 * host.
 */
function withUsableMembers(ingress: Ingress, claim: PathClaim, problems: UndatedProblem[]): PathClaim {
  const why = contradictionOf(ingress, claim);
  if (why === null) return claim;
  const reason = `its annotations can't be used together: ${why}`;
  problems.push(problemOf(claim.owner, claim.host, 'bad_annotation', `${reason}; its paths answer 503`));
  return { ...claim, members: {}, backend: missing(reason) };
}

type Claimed = {
  readonly members: RouteDraft;
  readonly backends: readonly Backend[];
  readonly claims: PathClaim[];
  readonly problems: readonly UndatedProblem[];
};
const known = new WeakMap<Ingress, Claimed>();

/** The claims of an earlier snapshot, if nothing that they depend on has changed, so that the route cached for their host is found too. */
function claimsOf(ingress: Ingress, owner: Owner, members: RouteDraft, backends: Backends, problems: UndatedProblem[]): PathClaim[] {
  const { rules, defaultBackend, meta } = ingress;
  const refs = rules.flatMap(({ paths }) => paths.map(({ backend }) => backend));
  if (defaultBackend !== undefined) refs.push(defaultBackend);
  const found = refs.map((ref) => backends.resolve(meta.namespace, ref));
  let claimed = known.get(ingress);
  if (claimed?.members !== members || !isSameList(claimed.backends, found)) {
    const own: UndatedProblem[] = [];
    claimed = { members, backends: found, claims: newClaimsOf(ingress, owner, members, backends, own), problems: own };
    known.set(ingress, claimed);
  }
  problems.push(...claimed.problems);
  return claimed.claims;
}

function newClaimsOf(ingress: Ingress, owner: Owner, members: RouteDraft, backends: Backends, problems: UndatedProblem[]): PathClaim[] {
  const { rules, defaultBackend, meta } = ingress;
  const claims: PathClaim[] = [];
  const hosts = new Map<Domain, HostTls>();
  const tlsOf = tlsIn(ingress);
  for (const rule of rules) {
    const { host: text, paths } = rule;
    const host = hostOf(rule);
    if (!host.ok) {
      problems.push(problemOf(owner, text, 'bad_host', `${text}: ${host.reason}`));
      continue;
    }
    const https = tlsOf(host.value);
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
    hosts.set(CATCH_ALL, hosts.get(CATCH_ALL) ?? tlsOf(CATCH_ALL));
    for (const [host, https] of hosts) claims.push({ owner, host, path: { kind: 'default' }, backend, members, https });
  }
  return claims;
}

/** Each version of an Ingress is parsed once. */
const knownHosts = new WeakMap<Ingress['rules'][number], Parsed<Domain>>();

function hostOf(rule: Ingress['rules'][number]): Parsed<Domain> {
  const before = knownHosts.get(rule);
  if (before) return before;
  const host = rule.host === null ? accepted(CATCH_ALL) : parseDomain(rule.host);
  knownHosts.set(rule, host);
  return host;
}

/** Patterns have at most 8,192 characters, and one of them is the path with an end (characters). */
const MAX_PATH = 8_000;

/** A path of an Ingress is plain text, whereas patterns of the proxy give `*` a meaning. */
function matchOf({ path, type }: IngressPath): PathMatch | { readonly reason: string } {
  const isPattern = type === 'ImplementationSpecific' && path.endsWith('/*');
  const plain = isPattern ? path.slice(0, -2) : path;
  if (path.length > MAX_PATH) return { reason: `a path is longer than ${MAX_PATH} characters` };
  if (plain.includes('*')) return { reason: `${path}: a path with * can't be matched; write pathType: Prefix and the path before it` };
  if (type === 'Exact') return { kind: 'exact', path };
  return { kind: 'prefix', path: withoutEndSlashes(plain) || '/' };
}

/** Finds the first entry of `tls` for a host; one without hosts is for all of them. An Ingress may name tens of thousands in both places. */
function tlsIn({ tls, meta }: Ingress): (host: Domain) => HostTls {
  const byName = new Map<string, number>();
  for (const [at, { hosts }] of tls.entries())
    for (const host of hosts) for (const name of [host, host.toLowerCase()]) if (!byName.has(name)) byName.set(name, at);
  const forAll = tls.findIndex(({ hosts }) => hosts.length === 0);
  return (host) => {
    const found = [forAll, byName.get(host) ?? -1, byName.get(wildcardOf(host) ?? host) ?? -1].filter((at) => at >= 0);
    const entry = found.length === 0 ? undefined : tls[Math.min(...found)];
    if (entry === undefined) return { kind: 'off' };
    return entry.secret === null ? { kind: 'auto' } : { kind: 'secret', namespace: meta.namespace, secret: entry.secret };
  };
}
