import type { Clock } from '../../shared/runtime/clock.ts';
import { inTurns } from '../../shared/runtime/turns.ts';
import type { Alert, HostNow, Overview, Traffic } from '../../shared/wire/dashboard.ts';
import type { DataplaneStatus } from '../../shared/wire/status.ts';
import type { RefusedRoute } from '../table/controllers/reported-conditions.ts';
import { alertsOf, type CertificateTrouble, type FailingSite, type Override, type Situation, type Warnings } from './alerts.ts';
import type { UpstreamSurvey } from './upstreams.ts';
import { WorstFirst } from './worst-first.ts';

/** How many alerts and hosts an overview has; it counts the others. */
const MAX_ALERTS = 200;
const MAX_HOSTS = 100;
/** How many alerts are listed for those who ask for all: at most 2 MB of text. */
const MAX_LISTED = 1_000;
/** How many names, routes or alerts are looked at in one turn of the event loop: 1 to 4 ms. */
const PER_TURN = 1_000;

/** Facts that only the Admin API knows: who is connected to it. */
export type Connected = Pick<DataplaneStatus, 'controllers' | 'last_reload'>;

/**
 * The parts of an overview. Those that grow with the number of routes or hosts take several turns of the event loop, or are read in some.
 */
export type OverviewParts = {
  readonly clock: Clock;
  readonly status: () => Omit<DataplaneStatus, keyof Connected | 'upstreams' | 'warnings' | 'advice'>;
  readonly warnings: () => Warnings;
  readonly advice: () => readonly string[];
  readonly upstreams: () => Promise<UpstreamSurvey>;
  readonly failing: () => Iterable<FailingSite | null>;
  readonly certificates: { readonly served: number; troubles(): Iterable<CertificateTrouble | null> };
  readonly overrides: () => Iterable<Override | null>;
  readonly refused: () => Iterable<RefusedRoute>;
  readonly history: () => string | null;
  readonly traffic: () => Traffic;
  readonly cache: () => Overview['cache'];
  /** When an alert began. */
  readonly since: (alert: Alert) => string | null;
  readonly hosts: (limit: number) => Promise<{ readonly hosts: HostNow[]; readonly count: number }>;
};

/** The content of the dashboard's first view, of bounded size however many routes and hosts there are. */
export async function overviewOf(parts: OverviewParts, connected: Connected): Promise<Overview> {
  const { status, alerts, count, upstreams, certificates } = await examine(parts, connected, MAX_ALERTS);
  const { hosts, count: hostCount } = await parts.hosts(MAX_HOSTS);
  const { controllers, last_reload: last } = connected;
  const { summary } = upstreams;
  return {
    at: new Date(parts.clock.now()).toISOString(),
    status: { ...status, controllers, last_reload: last && { ...last, errors: [] }, ...NONE, upstreams: summary },
    alerts,
    alert_count: count,
    traffic: parts.traffic(),
    hosts,
    host_count: hostCount,
    upstreams: { count: summary.count, healthy: summary.healthy },
    certificates,
    cache: parts.cache(),
  };
}

/** These are alerts. */
const NONE: Pick<DataplaneStatus, 'problems' | 'warnings' | 'advice'> = { problems: [], warnings: [], advice: [] };

/** The current alerts, worst first. If there are too many to list, the last one says how many are left out. */
export async function alertsNow(parts: OverviewParts, connected: Connected): Promise<Alert[]> {
  const { alerts, count } = await examine(parts, connected, MAX_LISTED);
  return count > alerts.length ? [...alerts, omitted(count - alerts.length)] : alerts;
}

const omitted = (count: number): Alert => ({
  ...{ severity: 'advice', code: 'alerts_omitted', domain: null, subject: 'alerts', since: null },
  message: `${count} more alerts are not listed`,
  action: 'Correct the listed ones first; the others appear as they disappear.',
});

type Examined = {
  readonly alerts: Alert[];
  readonly count: number;
  readonly status: ReturnType<OverviewParts['status']>;
  readonly upstreams: UpstreamSurvey;
  readonly certificates: Overview['certificates'];
};

async function examine(parts: OverviewParts, connected: Connected, limit: number): Promise<Examined> {
  const status = parts.status();
  const upstreams = await parts.upstreams();
  const troubles = await present(parts.certificates.troubles());
  const situation: Situation = {
    now: parts.clock.now(),
    status: { ...status, ...connected },
    warnings: parts.warnings(),
    advice: parts.advice(),
    pools: upstreams.pools,
    failing: await present(parts.failing()),
    certificates: troubles,
    overridden: await present(parts.overrides()),
    refused: parts.refused(),
    history: parts.history(),
  };
  const worst = new WorstFirst(limit);
  await inTurns(alertsOf(situation), PER_TURN, (alert) => worst.add({ ...alert, since: parts.since(alert) }));
  return { status, upstreams, alerts: worst.list(), count: worst.count, certificates: counted(parts.certificates.served, troubles) };
}

/** The items that are not null. */
async function present<T>(items: Iterable<T | null>): Promise<T[]> {
  const all: T[] = [];
  await inTurns(items, PER_TURN, (item) => item !== null && all.push(item));
  return all;
}

function counted(count: number, troubles: readonly CertificateTrouble[]): Overview['certificates'] {
  const of = (kind: CertificateTrouble['kind']): number => troubles.filter((trouble) => trouble.kind === kind).length;
  return { count, failed: of('certificate_missing') + of('certificate_expired'), expiring: of('certificate_expiring') };
}
