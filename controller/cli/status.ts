import { NAME } from '../../shared/name.ts';
import { SOURCE_FAILED } from '../../shared/wire/errors.ts';
import type { DataplaneStatus } from '../../shared/wire/status.ts';
import { ASKING_FLAGS, ask, clientOf, noArguments, wantsJson } from './ask.ts';
import type { Command, Terminal } from './command.ts';
import { askContainers, CONTROLLER_FLAG, type Containers, containersInWords } from './containers.ts';
import { table } from './table.ts';
import { plain, styled } from './terminal.ts';

/** At most this many problems are printed; `--json` prints all of them. */
const SHOWN = 50;
/** Exit code for scripts: there are problems. */
const SOMETHING_IS_WRONG = 3;

export const status: Command = {
  usage: '[flags]',
  summary: 'Shows current problems first (exit 3 if there are any), then the state of the data plane and its controllers.',
  flags: [...ASKING_FLAGS, CONTROLLER_FLAG],
  run: async (flags, terminal) => {
    noArguments('status', flags);
    const dataplane = await ask<DataplaneStatus>(clientOf(flags), '/status');
    const containers = dataplane.controllers.some(({ sources }) => sources.includes('docker')) ? await askContainers(flags) : { found: [] };
    const found = 'found' in containers ? containers.found : null;
    const wrong = whatIsWrong(dataplane);
    if (wantsJson(flags)) terminal.out(`${JSON.stringify({ ...dataplane, containers: found }, null, 2)}\n`);
    else terminal.out(describeStatus(terminal, dataplane, wrong) + containersOf(terminal, containers));
    return wrong.length === 0 ? 0 : SOMETHING_IS_WRONG;
  },
};

function containersOf(terminal: Terminal, containers: Containers): string {
  if ('unknown' in containers)
    return `\nNote: containers are not listed: ${plain(containers.unknown)}; run the command on the machine of the controller, or specify the controller with --controller ADDRESS\n`;
  return containers.found.length === 0 ? '' : `\n${containersInWords(terminal, containers.found)}`;
}

function describeStatus(terminal: Terminal, dataplane: DataplaneStatus, wrong: readonly string[]): string {
  const opening =
    wrong.length === 0
      ? styled(terminal, 'green', 'Nothing is wrong.')
      : [
          ...wrong.slice(0, SHOWN).map((line) => styled(terminal, 'red', `! ${plain(line)}`)),
          ...(wrong.length > SHOWN ? [`! and ${wrong.length - SHOWN} more`] : []),
        ].join('\n');
  const { workers, controllers, upstreams } = dataplane;
  const facts = [
    ['version', versionInWords(dataplane)],
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
  const advice = (dataplane.advice ?? []).map((line) => `\nNote: ${plain(line)}\n`).join('');
  return `${opening}\n\n${facts.join('\n')}\n${list}${advice}`;
}

function whatIsWrong(dataplane: DataplaneStatus): string[] {
  const { ready, reason, workers, controllers, warnings, problems, upstreams } = dataplane;
  const wrong: string[] = [];
  if (!ready) wrong.push(`not ready: ${reason ?? 'no reason given'}`);
  if (workers.serving < workers.configured)
    wrong.push(`${workers.configured - workers.serving} of ${workers.configured} workers are not serving`);
  for (const { id, connected, last_applied } of controllers)
    if (!connected)
      wrong.push(
        `${controllers.length === 1 ? 'the controller' : `controller ${id}`} is disconnected; its routes stay as of ${last_applied}`,
      );
  for (const { address, reason, domains, domain_count } of upstreams.out)
    wrong.push(
      `${address} is out of rotation: ${reason ?? 'no reason given'} (${domains.slice(0, 3).join(', ')}${domain_count > 3 ? ', …' : ''})`,
    );
  const more = upstreams.count - upstreams.healthy - upstreams.out.length;
  if (more > 0) wrong.push(`${more} more out of rotation`);
  wrong.push(...warnings);
  const failed = problems.find(({ code }) => code === SOURCE_FAILED);
  if (failed !== undefined) {
    const listed = controllers.some(({ listed, sources }) => (listed ?? sources).includes(failed.source));
    wrong.push(`a config has errors; ${listed ? 'its last good version is served' : 'nothing of it is served until they are fixed'}`);
  }
  wrong.push(...problems.map(({ origin, message }) => (message.startsWith(origin) ? message : `${origin}: ${message}`)));
  return wrong;
}

function versionInWords({ version, installed_version: installed }: DataplaneStatus): string {
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
