import { notesAbout } from '../../shared/policy/notes.ts';
import type { FullRoute } from '../../shared/wire/status.ts';
import { clientOf, getJson, noArguments, QUERY_FLAGS, wantsJson } from './command/admin-query.ts';
import type { Command } from './command/command.ts';
import { table } from './command/table.ts';

export const routes: Command = {
  usage: '[flags]',
  summary: 'Lists all routes, where they come from, and which routes are overridden.',
  flags: QUERY_FLAGS,
  run: async (flags, terminal) => {
    noArguments('routes', flags);
    const list = await getJson<FullRoute[]>(clientOf(flags), '/routes?view=full');
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(list, null, 2)}\n`);
    else if (list.length === 0) terminal.out('There are no routes.\n');
    else terminal.out(table(terminal, ['DOMAIN', 'TARGET', 'SOURCE', 'FROM', 'NOTES'], list.map(rowOf)));
    return 0;
  },
};

function rowOf(route: FullRoute): string[] {
  const by = route.controller === null ? 'manual' : route.controller;
  return [route.domain, targetOf(route), route.source ?? '-', route.origin ?? by, notesOn(route).join(', ')];
}

function targetOf({ upstream, upstreams, tls, respond, redirects, handles }: FullRoute): string {
  if (upstream !== null) return `${tls ? 'https://' : ''}${upstream}${upstreams.length > 1 ? ` and ${upstreams.length - 1} more` : ''}`;
  if (respond) return `responds ${respond.status}`;
  if (handles.length > 0) return blocksIn(handles.length);
  return redirects.length > 0 ? 'redirects' : '-';
}

const blocksIn = (count: number): string => (count === 1 ? '1 path block' : `${count} path blocks`);

/** Exported for its test. */
export function notesOn(route: FullRoute): string[] {
  const { upstream, handles, overrides, ports, wildcard } = route;
  const own = notesAbout(route);
  // A block's rate is not one of the site, and a password of one block leaves the others open.
  const inside = new Set(handles.flatMap((handle) => notesAbout(handle)));
  return [
    ...(ports ? [`only on port ${ports.join(', ')}`] : []),
    ...(wildcard === 'many' ? ['* is one label or more'] : []),
    ...(upstream !== null && handles.length > 0 ? [blocksIn(handles.length)] : []),
    ...own,
    ...[...inside].filter((note) => !own.includes(note)).map((note) => `${note} in a block`),
    ...(overrides ? [`overrides ${overrides.origin ?? overrides.source ?? 'a route'}`] : []),
  ];
}
