import { NAME } from '../../shared/name.ts';
import type { Alert } from '../../shared/wire/dashboard.ts';
import type { DataplaneStatus } from '../../shared/wire/status.ts';
import { clientOf, getJson, jsonIn, noArguments, QUERY_FLAGS, type RequestClient, wantsJson } from './command/admin-query.ts';
import type { Command, Terminal } from './command/command.ts';
import {
  CONTROLLER_FLAG,
  DISCOVERING_SOURCES,
  type Discovered,
  describeClusterObjects,
  describeContainers,
  NOTHING_DISCOVERED,
  queryDiscovered,
} from './command/containers.ts';
import { table } from './command/table.ts';
import { plain, styled } from './command/terminal.ts';
import { olderAlerts } from './older-alerts.ts';

/** At most this many problems are printed; `--json` prints all of them. */
const SHOWN = 50;
/** Exit code for scripts: there are problems. */
const SOMETHING_IS_WRONG = 3;

export const status: Command = {
  usage: '[flags]',
  summary: 'Shows current problems first (exit 3 if there are any), then the state of the data plane and its controllers.',
  flags: [...QUERY_FLAGS, CONTROLLER_FLAG],
  run: async (flags, terminal) => {
    noArguments('status', flags);
    const client = clientOf(flags);
    const dataplane = await getJson<DataplaneStatus>(client, '/status', 'controllers');
    const alerts = await fetchAlerts(client, dataplane);
    const isDiscovering = dataplane.controllers.some(({ sources }) => sources.some((source) => DISCOVERING_SOURCES.has(source)));
    const discovered = isDiscovering ? await queryDiscovered(flags) : NOTHING_DISCOVERED;
    const { containers = null, clusterObjects = null } = 'unknown' in discovered ? {} : discovered;
    const all = { ...dataplane, alerts, containers, cluster_objects: clusterObjects };
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(all, null, 2)}\n`);
    else terminal.out(describeStatus(terminal, dataplane, alerts) + describeDiscovered(terminal, discovered));
    return alerts.some(isWrong) ? SOMETHING_IS_WRONG : 0;
  },
};

async function fetchAlerts(client: RequestClient, dataplane: DataplaneStatus): Promise<Alert[]> {
  const answer = await client.request('GET', '/alerts');
  return answer.status === 404 ? olderAlerts(dataplane) : jsonIn<Alert[]>(answer);
}

const isWrong = ({ severity }: Alert): boolean => severity !== 'advice';

function describeDiscovered(terminal: Terminal, discovered: Discovered): string {
  if ('unknown' in discovered)
    return `\nNote: containers and objects of a cluster are not listed: ${plain(discovered.unknown)}; run the command on the machine of the controller, or specify the controller with --controller ADDRESS\n`;
  const { containers, clusterObjects } = discovered;
  return [
    containers.length === 0 ? '' : `\n${describeContainers(terminal, containers)}`,
    clusterObjects.length === 0 ? '' : `\n${describeClusterObjects(terminal, clusterObjects)}`,
  ].join('');
}

function describeStatus(terminal: Terminal, dataplane: DataplaneStatus, alerts: readonly Alert[]): string {
  const wrong = alerts.filter(isWrong);
  const opening =
    wrong.length === 0
      ? styled(terminal, 'green', 'Nothing is wrong.')
      : [
          ...wrong.slice(0, SHOWN).map((alert) => describeAlert(terminal, alert)),
          ...(wrong.length > SHOWN ? [`! and ${wrong.length - SHOWN} more`] : []),
        ].join('\n');
  const { workers, controllers, upstreams } = dataplane;
  const facts = [
    ['version', describeVersion(dataplane)],
    ['up', duration(dataplane.uptime_secs)],
    ['routes', `${dataplane.routes}${dataplane.overridden > 0 ? `, ${dataplane.overridden} overridden by manually posted routes` : ''}`],
    ['workers', `${workers.serving} of ${workers.configured} serving, ${workers.restarts} restarts`],
    ['upstreams', `${upstreams.count}, ${upstreams.healthy} healthy`],
    ['last reload', dataplane.last_reload ? `${dataplane.last_reload.ok ? 'good' : 'failed'}, ${dataplane.last_reload.at}` : 'none'],
  ].map(([name = '', value = '']) => `${name.padEnd(13)}${plain(value)}`);
  const known = controllers.map((one) => [
    one.id,
    one.connected ? 'connected' : 'away',
    one.sources.join(', '),
    String(one.revision),
    one.last_applied,
  ]);
  const list = known.length > 0 ? `\n${table(terminal, ['CONTROLLER', 'STREAM', 'SOURCES', 'REVISION', 'LAST APPLIED'], known)}` : '';
  // The version already says that another one is installed.
  const advice = alerts.filter((alert) => !isWrong(alert) && alert.code !== 'upgrade_pending').slice(0, SHOWN);
  const notes = advice.map((alert) => `\n${describeAlert(terminal, alert)}\n`).join('');
  return `${opening}\n\n${facts.join('\n')}\n${list}${notes}`;
}

/** What is wrong, and in the next line what to do about it. */
function describeAlert(terminal: Terminal, { severity, message, action }: Alert): string {
  const what = plain(message);
  const line = severity === 'advice' ? `Note: ${what}` : styled(terminal, severity === 'error' ? 'red' : 'yellow', `! ${what}`);
  return action === '' ? line : `${line}\n  ${plain(action)}`;
}

function describeVersion({ version, installed_version: installed }: DataplaneStatus): string {
  if (installed === undefined || installed === version) return version;
  return `${version} is running, ${installed} is installed: run ${NAME} upgrade`;
}

/** Seconds as `3d 4h`, `5m 10s`: the two largest units. */
function duration(secs: number): string {
  const parts = [
    [Math.floor(secs / 86_400), 'd'],
    [Math.floor(secs / 3_600) % 24, 'h'],
    [Math.floor(secs / 60) % 60, 'm'],
    [secs % 60, 's'],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return (first < 0 ? parts.slice(3) : parts.slice(first, first + 2)).map(([amount, unit]) => `${amount}${unit}`).join(' ');
}
