import type { DataplaneStatus, FullRoute } from '../../../../../shared/wire/status.ts';
import { moment, visible } from '../data/format.ts';
import { useLoaded } from '../data/load.ts';
import { linkTo } from '../data/page-location.ts';
import { searchable } from '../data/readable-host.ts';
import { Card, Loading, Waiting } from '../parts/card.tsx';
import { Conditions } from '../parts/conditions.tsx';
import { Cell, Filtered } from '../parts/filtered.tsx';
import { HostName } from '../parts/host-name.tsx';
import { HOSTS, ROUTES, TEXT } from '../strings.ts';
import type { ViewProps } from './view.ts';

const REFRESH_MS = 60_000;
const COLUMNS = [
  { name: ROUTES.host },
  { name: ROUTES.handler },
  { name: ROUTES.origin },
  { name: ROUTES.conditions },
  { name: ROUTES.since },
];

export function RoutesView({ place, overview }: ViewProps) {
  if (overview === null) return <Loading />;
  return <Routes filter={place.query.get('filter')} version={`${overview.status.generation} ${overview.alert_count}`} />;
}

function Routes({ filter, version }: { filter: string | undefined; version: string }) {
  const routes = useLoaded<FullRoute[]>('routes?view=full', REFRESH_MS, version);
  const status = useLoaded<DataplaneStatus>('status', REFRESH_MS, version);
  if (routes.value === null) return <Waiting loaded={routes} />;
  const problems = status.value?.problems ?? [];
  return (
    <>
      <h1 class="hidden">{TEXT.routes}</h1>
      <Card title={TEXT.routes}>
        <Filtered
          caption={TEXT.routes}
          columns={COLUMNS}
          items={routes.value}
          textOf={(route) => `${searchable(route.domain)} ${route.origin} ${route.source} ${addressesOf(route).join(' ')}`.toLowerCase()}
          first={filter}
          empty={
            <>
              <p>{HOSTS.empty}</p>
              <pre>{HOSTS.example}</pre>
            </>
          }
          noMatch={ROUTES.noMatch}
          row={(route) => (
            <tr key={route.domain}>
              <th scope="row">
                <a href={linkTo('hosts', route.domain)}>
                  <HostName name={route.domain} />
                </a>
                {ROUTES.https[route.https] !== null && <span class="why">{ROUTES.https[route.https]}</span>}
              </th>
              <Cell of={ROUTES.handler}>
                {handlersOf(route).map((text) => (
                  <div key={text}>{text}</div>
                ))}
              </Cell>
              <Cell of={ROUTES.origin}>
                <Breakable text={visible(route.origin ?? (route.controller === null ? ROUTES.posted : '–'))} />
                {route.source !== null && <span class="why">{ROUTES.source(route.source)}</span>}
                {route.overrides !== null && <span class="why">{ROUTES.overrides}</span>}
              </Cell>
              <Cell of={ROUTES.conditions}>
                <Conditions conditions={route.conditions} />
              </Cell>
              <Cell of={ROUTES.since}>{moment(route.since)}</Cell>
            </tr>
          )}
        />
      </Card>
      {problems.length > 0 && (
        <Card title={ROUTES.problems}>
          <ul class="alert-list">
            {problems.map(({ origin, domain, message, code, source }) => (
              <li key={`${source} ${origin} ${domain} ${code} ${message}`} class="warning">
                <p class="subject">
                  <b>{domain ?? visible(origin)}</b> <span class="dim">{visible(origin)}</span>
                </p>
                <p>{visible(message)}</p>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

/** A path whose lines may end before its slashes. */
const Breakable = ({ text }: { text: string }) => (
  <>{text.split('/').map((part, at) => (at === 0 ? part : [<wbr key={at} />, `/${part}`]))}</>
);

const addressesOf = ({ upstreams, handles }: FullRoute): string[] =>
  [...upstreams, ...handles.flatMap((handle) => handle.upstreams)].map(({ address }) => address);

/** What answers: targets, a fixed response, redirects, blocks. */
function handlersOf(route: FullRoute): string[] {
  const parts = [
    ...route.upstreams.slice(0, 3).map(({ address }) => address),
    route.upstreams.length > 3 ? `+${route.upstreams.length - 3}` : '',
    route.maintenance?.on === true ? ROUTES.maintenance : '',
    route.under_attack ? ROUTES.challenged : '',
    route.file_server == null ? '' : ROUTES.files,
    route.respond == null ? '' : ROUTES.responds(route.respond.status),
    route.redirects.length === 0 ? '' : ROUTES.redirects(route.redirects.length),
    route.handles.length === 0 ? '' : ROUTES.blocks(route.handles.length),
  ].filter((part) => part !== '');
  return parts.length === 0 ? [ROUTES.nothing] : parts;
}
