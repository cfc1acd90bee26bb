import type { UpstreamSpec } from '../../../shared/route.ts';
import type { CertificateRecord } from '../../../shared/wire/certificate.ts';
import type { FullRoute, SettingStatus } from '../../../shared/wire/status.ts';
import { CONFIG_FLAG, controllerId, ID_FLAG } from '../../flags.ts';
import { FILE_SOURCE } from '../../sources/file/sites/site.ts';
import { clientOf, getJson, QUERY_FLAGS, wantsJson } from '../command/admin-query.ts';
import type { Command, Terminal } from '../command/command.ts';
import { readConfig } from '../command/config-file.ts';
import { plain, styled } from '../command/terminal.ts';
import { type CertificateChange, certificateChanges } from './certificate-changes.ts';
import { type MemberChange, type RouteChange, routeChanges } from './difference.ts';
import { settingChanges } from './setting-changes.ts';

const DIFFERENT_EXIT = 3;

export const diff: Command = {
  usage: '--config PATH [flags]',
  summary:
    'Shows what applying a config file would add, change and remove on a running data plane, and which of its routes\nare overridden by manually posted ones. Exits with 0 if nothing would change, 3 if something would, and 1 if the file has errors.',
  flags: [CONFIG_FLAG, ...QUERY_FLAGS, ID_FLAG],
  run: async (flags, terminal) => {
    const config = await readConfig('diff', flags, terminal);
    if (config === null) return 1;
    const client = clientOf(flags);
    const [running, settings, certificates] = await Promise.all([
      getJson<FullRoute[]>(client, '/routes?view=full'),
      getJson<SettingStatus[]>(client, '/settings'),
      getJson<CertificateRecord[]>(client, '/certificates'),
    ]);
    const changes = {
      routes: routeChanges(running, config.routes, { controller: controllerId(flags), source: FILE_SOURCE }),
      settings: settingChanges(settings, config.globals),
      certificates: certificateChanges(certificates, config.certificates, controllerId(flags)),
    };
    terminal.out(wantsJson(flags) ? `${JSON.stringify(changes, null, 2)}\n` : describeChanges(terminal, changes));
    return isEmpty(changes) ? 0 : DIFFERENT_EXIT;
  },
};

type Changes = {
  readonly routes: readonly RouteChange[];
  readonly settings: readonly MemberChange[];
  readonly certificates: readonly CertificateChange[];
};

const isEmpty = ({ routes, settings, certificates }: Changes): boolean => routes.length + settings.length + certificates.length === 0;

const MARKS = {
  added: ['+', 'green'],
  changed: ['~', 'yellow'],
  removed: ['-', 'red'],
  conflicted: ['!', 'red'],
  same: ['!', 'yellow'],
} as const;

function describeChanges(terminal: Terminal, changes: Changes): string {
  if (isEmpty(changes)) return 'Nothing would change.\n';
  const { routes, settings, certificates } = changes;
  const lines = settings.map((change) => styled(terminal, 'yellow', `~ ${memberLine(change)}`));
  for (const route of routes) {
    const [mark, style] = MARKS[route.change];
    lines.push(styled(terminal, style, plain(`${mark} ${route.domain}${noteOf(route)}`)));
    lines.push(...route.members.map((change) => `    ${memberLine(change)}`));
  }
  for (const { change, domains } of certificates) {
    const [mark, style] = MARKS[change];
    lines.push(styled(terminal, style, plain(`${mark} certificate of ${domains.join(', ')}`)));
  }
  const of = (kind: RouteChange['change']) => routes.filter(({ change }) => change === kind).length;
  const hidden = routes.filter(({ hidden_by_hand }) => hidden_by_hand).length;
  const counts = [
    `${of('added')} to add, ${of('changed')} to change, ${of('removed')} to remove`,
    settings.length > 0 ? `, ${settings.length} setting${settings.length > 1 ? 's' : ''} to change` : '',
    certificates.length > 0 ? `, ${certificates.length} certificate${certificates.length > 1 ? 's' : ''}` : '',
    hidden > 0 ? `; ${hidden} overridden by manually posted routes` : '',
    of('conflicted') > 0 ? `; ${of('conflicted')} belong to other controllers` : '',
  ];
  return `${lines.join('\n')}\n\n${counts.join('')}.\n`;
}

function noteOf({ domain, change, hidden_by_hand, origin, owner }: RouteChange): string {
  const from = origin === null ? '' : ` (${origin})`;
  if (change === 'conflicted') return `${from} belongs to controller ${owner} and stays there (--id ${owner} compares as that controller)`;
  if (!hidden_by_hand) return from;
  const stays = `a manually posted route is served instead; to remove it: DELETE /routes/${domain}`;
  return `${from}, hidden: ${stays}`;
}

const memberLine = ({ name, before, after }: MemberChange): string => plain(`${name}: ${shown(before)} -> ${shown(after)}`);

/** Text unchanged, nothing as "none", a pool as its addresses, everything else as JSON. */
function shown(value: unknown): string {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return 'none';
  if (isPool(value)) return value.map(describeTarget).join(' ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const isPool = (value: unknown): value is UpstreamSpec[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && 'address' in one);

const describeTarget = ({ address, weight, state }: UpstreamSpec): string =>
  `${address}${weight === 1 ? '' : ` weight ${weight}`}${state === 'healthy' ? '' : ` ${state}`}`;
