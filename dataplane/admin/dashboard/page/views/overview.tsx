import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import type { History } from '../../../../../shared/wire/history.ts';
import { bytes, count, exact, percent, rate, span, visible } from '../data/format.ts';
import { hostRowsOf } from '../data/host-rows.ts';
import type { Loaded } from '../data/load.ts';
import { linkTo } from '../data/page-location.ts';
import { searchable } from '../data/readable-host.ts';
import { AlertList } from '../parts/alert-list.tsx';
import { Card, Loading, Waiting } from '../parts/card.tsx';
import { Figure } from '../parts/figure.tsx';
import { Cell, Filtered } from '../parts/filtered.tsx';
import { HostName } from '../parts/host-name.tsx';
import { PeriodPicker } from '../parts/period-picker.tsx';
import { Traffic } from '../parts/traffic.tsx';
import { ALERTS, ERRORS, HOSTS, NOW, TEXT } from '../strings.ts';
import type { ViewProps } from './view.ts';

const FIRST_ALERTS = 3;
/** The first view stays short enough to be looked over; the filter finds the others. */
const FIRST_HOSTS = 12;

export function OverviewView({ place, overview, period, history }: ViewProps) {
  if (overview === null) return <Loading />;
  return (
    <>
      <h1 class="hidden">{TEXT.overview}</h1>
      <Wrong overview={overview} />
      <Now overview={overview} visitors={history.value?.now ?? null} />
      {overview.status.routes === 0 && <NoRoute />}
      <PeriodPicker place={place} period={period} />
      {history.value !== null && <Traffic history={history.value} outdated={history.loading} />}
      {history.value === null && <NoHistory loaded={history} />}
      <Hosts overview={overview} history={history.value} outdated={history.value !== null && history.loading} />
    </>
  );
}

function NoHistory({ loaded }: { loaded: Loaded<History> }) {
  return loaded.status === 404 ? <p class="card empty">{ERRORS.historyOff}</p> : <Waiting loaded={loaded} />;
}

function Wrong({ overview: { alerts, alert_count } }: { overview: Overview }) {
  const urgent = alerts.filter(({ severity }) => severity !== 'advice');
  if (urgent.length === 0)
    return (
      <p class="fine">
        {ALERTS.none} {alert_count > 0 && <a href={linkTo('alerts')}>{ALERTS.advice(alert_count)}</a>}
      </p>
    );
  return (
    <Card title={ALERTS.title} class="wrong">
      <AlertList alerts={urgent.slice(0, FIRST_ALERTS)} />
      {alert_count > Math.min(FIRST_ALERTS, urgent.length) && (
        <a class="more" href={linkTo('alerts')}>
          {TEXT.allOf(exact(alert_count))}
        </a>
      )}
    </Card>
  );
}

function Now({ overview: { traffic, upstreams, certificates, status, cache }, visitors }: { overview: Overview; visitors: number | null }) {
  const figures = [
    [NOW.visitors, visitors === null ? '–' : count(visitors), NOW.visitorsHint],
    [NOW.requests, NOW.perSecond(rate(traffic.requests_per_sec))],
    [NOW.traffic, NOW.perSecond(bytes(traffic.bytes_per_sec))],
    [NOW.errors, NOW.perSecond(rate(traffic.errors_per_sec))],
    [NOW.targets, TEXT.of(exact(upstreams.healthy), exact(upstreams.count)), NOW.targetsHint],
    [NOW.certificates, certificatesText(certificates), NOW.certificatesHint],
    ...cacheFigures(cache),
    [NOW.uptime, span(status.uptime_secs)],
  ] as const;
  return (
    <Card title={NOW.title} class="now">
      <dl class="figures">
        {figures.map(([name, value, hint]) => (
          <Figure key={name} name={name} value={value} hint={hint} />
        ))}
      </dl>
    </Card>
  );
}

const certificatesText = ({ count, failed }: Overview['certificates']): string =>
  failed === 0 ? exact(count) : NOW.failing(exact(count), exact(failed));

/** None without a cache. */
function cacheFigures(cache: Overview['cache']): readonly (readonly [name: string, value: string, hint?: string])[] {
  if (cache === null) return [];
  const { hits_60m: hits, requests_60m: requests } = cache;
  return [
    [NOW.cached, requests === 0 ? '–' : percent(hits / requests), NOW.cachedHint],
    [NOW.cacheUsed, percent(cache.bytes / cache.max_bytes), TEXT.of(bytes(cache.bytes), bytes(cache.max_bytes))],
  ];
}

function NoRoute() {
  return (
    <Card title={HOSTS.emptyTitle} class="first">
      <p>{HOSTS.empty}</p>
      <pre>{HOSTS.example}</pre>
    </Card>
  );
}

const known = (figure: number | null): string => (figure === null ? '–' : count(figure));

/** The busiest hosts of the period, and those that are busy now. */
function Hosts({ overview, history, outdated }: { overview: Overview; history: History | null; outdated: boolean }) {
  const columns = [
    { name: HOSTS.host },
    { name: HOSTS.pageViews, number: true },
    { name: HOSTS.requests, number: true },
    { name: HOSTS.minute, number: true },
    { name: HOSTS.hour, number: true },
    { name: HOSTS.status },
  ];
  return (
    <Card title={HOSTS.title} busy={outdated}>
      <Filtered
        caption={HOSTS.title}
        columns={columns}
        items={hostRowsOf(overview, history?.hosts ?? null)}
        textOf={({ domain }) => searchable(domain)}
        rows={FIRST_HOSTS}
        empty={HOSTS.noTraffic}
        noMatch={TEXT.searchNothing}
        row={({ domain, pageViews, requests, minute, hour, wrong: message }) => (
          <tr key={domain}>
            <th scope="row">
              <a href={linkTo('hosts', domain)}>
                <HostName name={domain} />
              </a>
            </th>
            <Cell of={HOSTS.pageViews} number>
              {known(pageViews)}
            </Cell>
            <Cell of={HOSTS.requests} number>
              {known(requests)}
            </Cell>
            <Cell of={HOSTS.minute} number>
              {known(minute)}
            </Cell>
            <Cell of={HOSTS.hour} number>
              {known(hour)}
            </Cell>
            <Cell of={HOSTS.status}>
              {message === null && known(null)}
              {message === '' && <span class="good-text">{HOSTS.fine}</span>}
              {message !== null && message !== '' && (
                <a class="poor-text" href={linkTo('hosts', domain)} title={visible(message)}>
                  {HOSTS.wrong}
                  <span class="hidden">
                    : <HostName name={domain} />
                  </span>
                </a>
              )}
            </Cell>
          </tr>
        )}
      />
      {overview.status.routes > 0 && (
        <p class="note">
          <a href={linkTo('routes')}>{HOSTS.routes(overview.status.routes, exact(overview.status.routes))}</a>
        </p>
      )}
    </Card>
  );
}
