import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import type { History } from '../../../../../shared/wire/history.ts';
import type { Explanation } from '../../../../../shared/wire/status.ts';
import { count, exact, percent, visible } from '../data/format.ts';
import { type Loaded, useLoaded } from '../data/load.ts';
import { periodQuery } from '../data/period.ts';
import { readableHost } from '../data/readable-host.ts';
import { AlertList } from '../parts/alert-list.tsx';
import { Card, Loading, Waiting } from '../parts/card.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { RouteFacts } from '../parts/route-facts.tsx';
import { TargetTable } from '../parts/target-table.tsx';
import { Traffic } from '../parts/traffic.tsx';
import { ALERTS, ERRORS, HOST } from '../strings.ts';
import type { ViewProps } from './view.ts';

const REFRESH_MS = 60_000;

/** The route for every host that has no other one. */
export const CATCH_ALL = '*';

export function HostView(props: ViewProps) {
  const { overview, place } = props;
  if (overview === null) return <Loading />;
  return place.subject === CATCH_ALL ? <CatchAll {...props} overview={overview} /> : <Host {...props} overview={overview} />;
}

type HostProps = ViewProps & { overview: Overview };

/** It has figures of its own only if it has served more hosts than are counted separately. */
function CatchAll(props: HostProps) {
  const history = useLoaded<History>(`analytics/${CATCH_ALL}/history?${periodQuery(props.period)}`, REFRESH_MS);
  // For another period it has nothing to show meanwhile: what it shows is only being refreshed.
  return <Host {...props} history={{ ...history, loading: false }} />;
}

function Host({ place, overview, period, history }: HostProps) {
  const domain = place.subject ?? '';
  const readable = readableHost(domain);
  const name = domain.startsWith('*.') ? `any${domain.slice(1)}` : domain;
  const explained = useLoaded<Explanation>(`explain?url=${encodeURIComponent(name)}`, REFRESH_MS, overview.status.generation);
  const live = overview.hosts.find((host) => host.domain === domain);
  const pattern = explained.value?.route?.domain ?? live?.pattern;
  const alerts = overview.alerts.filter((alert) => alert.domain !== null && (alert.domain === domain || alert.domain === pattern));
  const isCounted = history.value !== null;
  const isRouted = explained.value?.routed !== false;
  return (
    <>
      <div class="title">
        <h1>{visible(readable)}</h1>
        {readable !== domain && <p class="dim">{visible(domain)}</p>}
        <p class="now-here">
          {history.value !== null && <b>{HOST.visitorsNow(history.value.now)}</b>}{' '}
          {live !== undefined && <span class="dim">{HOST.lastMinute(exact(live.page_views_1m), live.page_views_1m)}</span>}{' '}
          {live?.cache !== undefined && live.cache.requests_60m > 0 && (
            <span class="dim">{HOST.cached(percent(live.cache.hits_60m / live.cache.requests_60m))}</span>
          )}
        </p>
      </div>
      {alerts.length > 0 && (
        <Card title={ALERTS.title} class="wrong">
          <AlertList alerts={alerts} />
        </Card>
      )}
      {!isRouted && <Unrouted near={explained.value?.near ?? null} isCounted={isCounted} />}
      {(isRouted || isCounted) && <PeriodPicker place={place} period={period} />}
      {history.value !== null && <Traffic history={history.value} outdated={history.loading} />}
      {history.value === null && isRouted && <NoHistory loaded={history} isWildcard={domain.startsWith('*')} />}
      {isRouted && <Inside domain={domain} explained={explained} />}
    </>
  );
}

/** `near` says which host with a similar name is routed. */
function Unrouted({ near, isCounted }: { near: string | null; isCounted: boolean }) {
  return (
    <Card title={HOST.unroutedTitle}>
      <p>{isCounted ? HOST.unrouted : HOST.unroutedQuiet}</p>
      {near !== null && <p>{HOST.near(near)}</p>}
    </Card>
  );
}

/** 404 stands for a host without requests, and for history that is off; both say so. */
function NoHistory({ loaded, isWildcard }: { loaded: Loaded<History>; isWildcard: boolean }) {
  if (loaded.status !== 404) return <Waiting loaded={loaded} />;
  const isOff = loaded.failure !== ERRORS.noAnalytics;
  return (
    <Card title={HOST.quietTitle} class="first">
      <p>{isOff ? ERRORS.historyOff : isWildcard ? HOST.quietWildcard : HOST.quiet}</p>
    </Card>
  );
}

/** How the proxy handles the host: its route, its targets and its certificate. */
function Inside({ domain, explained }: { domain: string; explained: Loaded<Explanation> }) {
  if (explained.value === null) return <Waiting loaded={explained} />;
  const { route, verdict, certificate, targets, policies } = explained.value;
  return (
    <div class="grid">
      <Card title={HOST.route} class="half">
        <dl class="facts">
          <div>
            <dt>{HOST.home}</dt>
            <dd>{verdict}</dd>
          </div>
          {route !== null && <RouteFacts route={route} />}
          <div>
            <dt>{HOST.certificate}</dt>
            <dd>{certificate}</dd>
          </div>
          {policies.map((policy) => (
            <div key={policy.name}>
              <dt>{policy.name}</dt>
              <dd>{policy.verdict}</dd>
            </div>
          ))}
        </dl>
      </Card>
      <Card title={HOST.targets(count(targets.length))} class="half">
        <TargetTable targets={targets} of={route?.domain ?? domain} />
      </Card>
    </div>
  );
}
