import type { FullRoute } from '../../shared/wire/status.ts';
import { ASKING_FLAGS, ask, clientOf, noArguments, wantsJson } from './ask.ts';
import type { Command } from './command.ts';
import { table } from './table.ts';

export const routes: Command = {
  usage: '[flags]',
  summary: 'Lists all routes, where they come from, and which routes are overridden.',
  flags: ASKING_FLAGS,
  run: async (flags, terminal) => {
    noArguments('routes', flags);
    const list = await ask<FullRoute[]>(clientOf(flags), '/routes?view=full');
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(list, null, 2)}\n`);
    else if (list.length === 0) terminal.out('Nothing is routed.\n');
    else terminal.out(table(terminal, ['DOMAIN', 'TARGET', 'SOURCE', 'FROM', 'NOTES'], list.map(rowOf)));
    return 0;
  },
};

function rowOf(route: FullRoute): string[] {
  const by = route.controller === null ? 'by hand' : route.controller;
  return [route.domain, targetOf(route), route.source ?? '-', route.origin ?? by, notesOf(route).join(', ')];
}

export function targetOf({ upstream, upstreams, tls, respond, redirects, handles }: FullRoute): string {
  if (upstream !== null) return `${tls ? 'https://' : ''}${upstream}${upstreams.length > 1 ? ` and ${upstreams.length - 1} more` : ''}`;
  if (respond) return `responds ${respond.status}`;
  if (handles.length > 0) return blocksIn(handles.length);
  return redirects.length > 0 ? 'redirects' : '-';
}

const blocksIn = (count: number): string => (count === 1 ? '1 path block' : `${count} path blocks`);

function notesOf(route: FullRoute): string[] {
  const { upstream, handles, overrides } = route;
  const notes = [];
  if (upstream !== null && handles.length > 0) notes.push(blocksIn(handles.length));
  if (route.rate_limit_rps !== null) notes.push(`${route.rate_limit_rps}/s`);
  if ([route, ...handles].some(({ basic_auth }) => basic_auth !== null)) notes.push('password');
  if ([route, ...handles].some(({ ip_filter }) => ip_filter)) notes.push('addresses');
  if (overrides) notes.push(`hides ${overrides.origin ?? overrides.source ?? 'a route'}`);
  return notes;
}
