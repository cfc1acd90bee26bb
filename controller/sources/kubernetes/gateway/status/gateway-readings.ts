import type { UndatedProblem } from '../../../source.ts';
import type { UndatedReading } from '../../../transition-times.ts';
import { nameOf } from '../../objects/meta.ts';
import { KUBERNETES_SOURCE, type Owner, originOf, problemOf } from '../../objects/owner.ts';
import { domainOf } from '../hosts/hostnames.ts';
import { whyUnpresented } from '../hosts/lost-hosts.ts';
import type { JudgedRoute } from '../judged-routes.ts';
import type { BoundListener } from '../listeners.ts';
import type { GatewayTranslation } from '../translate-gateways.ts';

const KINDS = { HTTPRoute: 'httproute', GRPCRoute: 'grpcroute', TLSRoute: 'tlsroute' } as const;

const ownerOfRoute = ({ route }: Pick<JudgedRoute, 'route'>): Owner => ({ kind: KINDS[route.kind], meta: route.meta });

/** The state of each Gateway, and of each route that refers to a Gateway of this controller. */
export function gatewayReadings({ gateways, routes }: GatewayTranslation): UndatedReading[] {
  return [
    ...gateways.map(({ gateway, listeners }) => readingOfGateway({ kind: 'gateway', meta: gateway.meta }, listeners)),
    ...ours(routes).map(readingOfRoute),
  ];
}

/** What is wrong with them, for `status` and `explain`. */
export function gatewayProblems({ gateways, routes, hosts, lost }: GatewayTranslation): UndatedProblem[] {
  const serving = new Map([...hosts].map(([domain, { listeners }]) => [domain, new Set(listeners)]));
  return [
    ...[...hosts].flatMap(([host, { refused }]) =>
      refused.map((route) =>
        problemOf(ownerOfRoute({ route }), host, 'path_taken', `${host} has no room left: its rules are too many, or too large together`),
      ),
    ),
    ...lost.map(({ bound, name, why }) => problemOf({ kind: 'gateway', meta: bound.gateway.meta }, domainOf(name), 'path_taken', why)),
    ...gateways.flatMap(({ gateway, listeners }) =>
      faultsOf(listeners).map(({ host, code, message }) => problemOf({ kind: 'gateway', meta: gateway.meta }, host, code, message)),
    ),
    ...ours(routes).flatMap((judged) => {
      const { route } = judged;
      const owner = ownerOfRoute(judged);
      return faultsOfRoute(judged).map(({ code, message }) => problemOf(owner, route.hostnames[0] ?? null, code, message));
    }),
    ...ours(routes).flatMap((judged) =>
      withoutPlace(judged, hosts, serving).map(({ domain, why }) =>
        problemOf(ownerOfRoute(judged), domain, 'path_taken', `${domain}: ${why}, so the route gets no requests`),
      ),
    ),
    // Last, because a Gateway may have many, and only some problems of an object are reported.
    ...[...hosts].flatMap(([domain, host]) =>
      host.unpresented.map((bound) =>
        problemOf({ kind: 'gateway', meta: bound.gateway.meta }, domain, 'certificate_not_presented', whyUnpresented(host, bound)),
      ),
    ),
  ];
}

const PASSED_ON = 'a more specific listener of its Gateway passes the connections on';
const TAKEN = 'other listeners have it wherever the route is attached';

type Serving = ReadonlyMap<string, ReadonlySet<BoundListener>>;

/** The hosts that a route has at listeners which end TLS, although others of the port have them. `serving`: the listeners of each host. */
function withoutPlace({ route, attachments, verdicts }: JudgedRoute, hosts: GatewayTranslation['hosts'], serving: Serving) {
  if (route.kind === 'TLSRoute' || verdicts.matchesNothing) return [];
  const own = attachments
    .flatMap(({ listeners }) => listeners.filter(({ bound }) => bound.isServed))
    .flatMap(({ bound, hosts: names }) => names.map((name) => ({ bound, domain: domainOf(name) })));
  const served = new Set(own.flatMap(({ bound, domain }) => (serving.get(domain)?.has(bound) ? [domain] : [])));
  return [...new Set(own.map(({ domain }) => domain))]
    .filter((domain) => !served.has(domain))
    .map((domain) => ({ domain, why: hosts.has(domain) ? TAKEN : PASSED_ON }));
}

const ours = (routes: readonly JudgedRoute[]): readonly JudgedRoute[] => routes.filter(({ attachments }) => attachments.length > 0);

function faultsOf(listeners: readonly BoundListener[]) {
  return listeners.flatMap(({ listener, accepted, resolved }) => {
    const fault = accepted.holds ? resolved : accepted;
    if (fault.holds) return [];
    return [{ host: listener.hostname, code: snakeCase(fault.reason), message: `listener ${listener.name}: ${fault.message}` }];
  });
}

function faultsOfRoute({ attachments, verdicts }: JudgedRoute) {
  const accepted = attachments.flatMap(({ accepted: one }) => (one.holds ? [] : [one]));
  const { invalid, partlyInvalid, resolved } = verdicts;
  const faults = [...accepted, ...[invalid, partlyInvalid].flatMap((one) => one ?? []), ...(resolved.holds ? [] : [resolved])];
  return faults.map(({ reason, message }) => ({ code: snakeCase(reason), message }));
}

const snakeCase = (reason: string): string => reason.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

function readingOfGateway(owner: Owner, listeners: readonly BoundListener[]): UndatedReading {
  const wrong = listeners.filter(({ accepted }) => !accepted.holds);
  const unresolved = listeners.filter(({ resolved }) => !resolved.holds);
  return {
    ...identity(owner),
    domains: [...new Set(listeners.map(({ listener }) => domainOf(listener.hostname)))],
    accepted: conditionFrom(
      wrong.map(({ listener, accepted }) => `listener ${listener.name}: ${accepted.message}`),
      'it is valid',
    ),
    resolved: conditionFrom(
      unresolved.map(({ listener, resolved }) => `listener ${listener.name}: ${resolved.message}`),
      'what it refers to exists',
    ),
    change: wrong.length + unresolved.length > 0 ? 'correct the Gateway, or create what it refers to' : null,
  };
}

function readingOfRoute(judged: JudgedRoute): UndatedReading {
  const { route, attachments, verdicts } = judged;
  const hosts = attachments.flatMap(({ listeners }) => listeners.flatMap((one) => one.hosts.map(domainOf)));
  const refused = [
    ...attachments.flatMap(({ accepted }) => (accepted.holds ? [] : [accepted.message])),
    ...[verdicts.invalid, verdicts.partlyInvalid].flatMap((one) => one?.message ?? []),
  ];
  const { resolved } = verdicts;
  return {
    ...identity(ownerOfRoute(judged)),
    domains: [...new Set([...route.hostnames, ...hosts])],
    accepted: conditionFrom(refused, 'it is valid, and a listener takes it'),
    resolved: conditionFrom(resolved.holds ? [] : [resolved.message], 'what it refers to exists'),
    change: refused.length > 0 || !resolved.holds ? 'correct the route, or create what it refers to' : null,
  };
}

const conditionFrom = (faults: readonly string[], otherwise: string) => ({
  holds: faults.length === 0,
  reason: faults.length === 0 ? otherwise : [...new Set(faults)].join('; '),
});

const identity = (owner: Owner) => ({
  source: KUBERNETES_SOURCE,
  kind: owner.kind,
  id: owner.meta.uid,
  name: nameOf(owner.meta),
  origin: originOf(owner),
  section: null,
  peers: { count: 0, names: [] },
  address: null,
});
