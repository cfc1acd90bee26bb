import { oldestOf } from '../../objects/meta.ts';
import { isAccepted, type JudgedRoutes } from '../judged-routes.ts';
import type { BoundListener } from '../listeners.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import { type GatewayHost, gatewayHost } from './gateway-hosts.ts';
import type { OtherOwner } from './host-owners.ts';
import { HostRules } from './host-rules.ts';
import { coveringNames, domainOf, type Hostname } from './hostnames.ts';
import { conflictsOf, type LostHost, lostByCertificates, type SharedHosts, unpresentedAt } from './lost-hosts.ts';
import type { PassedAt } from './named-places.ts';
import type { HostPassthroughs } from './passthroughs.ts';
import { type EndingAt, tlsHosts } from './tls-hosts.ts';
import { tlsOverlaps } from './tls-overlaps.ts';

/** Objects of other kinds, such as Ingresses, that name hosts. */
export type OtherObjects = {
  /** The oldest one of each host, by domain. */
  readonly owners: ReadonlyMap<string, OtherOwner>;
  /** The domains that any of them names, accepted or not. */
  readonly named: ReadonlySet<string>;
};

export type ServedHosts = {
  /** By domain. */
  readonly hosts: ReadonlyMap<string, GatewayHost>;
  /** Where TLS connections are passed on to, by domain. */
  readonly passthroughs: ReadonlyMap<string, HostPassthroughs>;
  /** The hosts of listeners that others have. */
  readonly lost: readonly LostHost[];
  /** What the statuses of listeners say of that. */
  readonly shared: SharedHosts;
};

/** Decides who has each host of the listeners, ends its TLS or passes it on, and which routes serve it. */
export function servedHosts(
  gateways: readonly { readonly listeners: readonly BoundListener[] }[],
  { http, tls }: JudgedRoutes,
  targets: RouteBackends,
  map: PortMap,
  { owners, named }: OtherObjects,
): ServedHosts {
  const listeners = gateways.flatMap((one) => one.listeners);
  const rules = hostRules(listeners, http, map);
  const passed = tls.filter(isAccepted).flatMap(({ attachments }) => attachments);
  const byHost = tlsHosts(listeners, passed, map, targets, endingTls(rules, owners));
  const lostByName = Map.groupBy(byHost.lost, ({ name }) => name);
  const hosts = new Map(
    rules.names().flatMap((name): [string, GatewayHost][] => {
      const domain: string = domainOf(name);
      const isBelowShared = coveringNames(name).some((over) => over !== name && named.has(domainOf(over)));
      const lostBy = new Set(lostByName.get(name)?.map(({ bound }) => bound));
      const shared = { isShared: named.has(domain), isBelowShared, lostBy, passedAt: passedAt(byHost.passthroughs, map) };
      const host = gatewayHost(name, rules, map, targets, owners.get(domain), shared);
      return host === null ? [] : [[domain, host]];
    }),
  );
  const lost = [...lostByCertificates(hosts.values()), ...byHost.lost];
  const serving = new Set([...servingHttp(hosts.values(), byHost.lost), ...byHost.serving]);
  return {
    hosts,
    passthroughs: new Map([...byHost.passthroughs].map(([name, entries]) => [domainOf(name) as string, entries])),
    lost,
    shared: {
      conflicts: conflictsOf(lost, serving),
      overlaps: new Map([...gateways.flatMap((one) => [...tlsOverlaps(one.listeners)]), ...unpresentedAt(hosts.values())]),
    },
  };
}

function hostRules(listeners: readonly BoundListener[], http: JudgedRoutes['http'], map: PortMap): HostRules {
  // Those that are not accepted answer with 500: their requests must not get to less specific routes, without their filters.
  const served = http.filter(({ verdicts }) => !verdicts.matchesNothing).flatMap(({ attachments }) => attachments);
  const refused = new Set(http.filter((judged) => !isAccepted(judged)).map(({ route }) => route));
  return new HostRules(listeners, served, map, refused);
}

/** The objects that end TLS for a host: routes of listeners for HTTPS, and the oldest object of another kind. */
function endingTls(rules: HostRules, owners: OtherObjects['owners']): EndingAt {
  return (name, place) => {
    const other = owners.get(domainOf(name));
    if (other === undefined) return rules.namingHttps(name, place);
    // Without a setting for HTTPS, it has that by listeners for HTTPS, with their certificates, since these are there.
    const over =
      other.https.get(other.meta.namespace) || rules.hasHttpsOf(other.meta.namespace, name, place)
        ? other.meta
        : oldestOf([rules.httpsOver(name, place) ?? [], other.covering].flat().map((meta) => ({ meta })))?.meta;
    const createdAt = over === undefined || over.createdAt < other.meta.createdAt ? other.meta.createdAt : over.createdAt;
    return [
      ...(over ? [{ meta: { ...other.meta, createdAt }, bound: null, certifiedBy: over.uid }] : []),
      ...rules.namingHttps(name, place),
    ];
  };
}

const passedAt =
  (passthroughs: ReadonlyMap<Hostname, HostPassthroughs>, map: PortMap): PassedAt =>
  (name, { address, port }) =>
    passthroughs
      .get(name)
      ?.some(
        ({ ports, local_ips: ips }) =>
          ports?.includes(mapPort(map, port)) === true && (ips === undefined || address === null || ips.includes(address)),
      ) === true;

/** The listeners that serve a host over HTTP or HTTPS. */
function servingHttp(hosts: Iterable<GatewayHost>, passedOn: readonly LostHost[]): BoundListener[] {
  const byListener = Map.groupBy(passedOn, ({ bound }) => bound);
  return [...hosts].flatMap(({ name, listeners }) => listeners.filter((bound) => !byListener.get(bound)?.some((one) => one.name === name)));
}
