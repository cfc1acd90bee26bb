import { CLUSTER_PREFIX, LABEL_PREFIX } from '../../../../shared/name.ts';
import { readLabels, type SiteLabels } from '../../labels/read-labels.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Backends } from '../backends/backends.ts';
import { nameOf } from '../objects/meta.ts';
import { type Owner, problemOf } from '../objects/owner.ts';
import type { Service } from '../objects/service.ts';
import type { PathClaim, Request } from './claim.ts';

/** Whether a Service has annotations like the labels of a container. */
export const isAnnotated = ({ annotations }: Service): boolean => Object.keys(annotations).some(isLabel);

/** Annotations of Services and of Ingresses have the same prefix. */
const isLabel = (name: string): boolean => name.startsWith(LABEL_PREFIX) && !name.startsWith(CLUSTER_PREFIX);

/** How many mistakes of one Service are reported. */
const MAX_MISTAKES = 100;

/** What an annotated Service requests: its sites, like those of a container with these labels. `sluice.port` is a port of the Service. */
export function requestOfService(service: Service, backends: Backends): Request {
  const owner: Owner = { kind: 'service', meta: service.meta };
  const { sites, bad, warnings } = readLabels(Object.fromEntries(Object.entries(service.annotations).filter(([name]) => isLabel(name))));
  const problems: UndatedProblem[] = warnings.map(({ code, domain, message }) => problemOf(owner, domain, code, message));
  const reasons = bad.flatMap((site) => site.reasons).slice(0, MAX_MISTAKES);
  const mistakes = bad.flatMap((site) => site.reasons.map((reason) => ({ domain: site.domains[0] ?? null, reason })));
  for (const { domain, reason } of mistakes.slice(0, MAX_MISTAKES)) problems.push(problemOf(owner, domain, 'bad_annotation', reason));
  const claims = sites.flatMap((site) => claimsOf(service, owner, site, backends, problems, reasons));
  return { owner, claims, problems, reasons, isRefused: false, hosts: [...sites, ...bad].flatMap(({ domains }) => domains) };
}

function claimsOf(
  service: Service,
  owner: Owner,
  { domains, port, members }: SiteLabels,
  backends: Backends,
  problems: UndatedProblem[],
  reasons: string[],
): PathClaim[] {
  const { meta, ports } = service;
  const [only] = ports;
  if (port === null && (only === undefined || ports.length > 1)) {
    const reason = `the service ${nameOf(meta)} has ${ports.length} ports: name one with ${LABEL_PREFIX}port`;
    problems.push(problemOf(owner, domains[0] ?? null, 'no_port', reason));
    reasons.push(reason);
    return [];
  }
  const backend = backends.resolve(meta.namespace, { service: meta.name, port: port ?? only?.port ?? 0 });
  if (backend.isMissing && backend.reason !== null) {
    problems.push(problemOf(owner, domains[0] ?? null, 'no_backend', backend.reason));
    reasons.push(backend.reason);
  }
  const https = { kind: members.https === 'off' ? 'off' : 'auto' } as const;
  return domains.map((host) => ({ owner, host, path: { kind: 'prefix', path: '/' }, backend, members, https }));
}
