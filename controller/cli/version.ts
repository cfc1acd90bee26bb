import { NAME } from '../../shared/name.ts';
import { runningBuild } from '../../shared/runtime/process/build.ts';
import { JSON_FLAG, noArguments, wantsJson } from './command/admin-query.ts';
import type { Command } from './command/command.ts';

export const version: Command = {
  usage: '[--json]',
  summary: 'Prints version, Node version and, where known, the git commit.',
  flags: [JSON_FLAG],
  run: async (flags, terminal) => {
    noArguments('version', flags);
    const { version, commit } = runningBuild;
    const node = process.versions.node;
    if (wantsJson(flags)) terminal.out(`${JSON.stringify({ version, node, commit }, null, 2)}\n`);
    else terminal.out(`${NAME} ${version} (Node ${node}${commit ? `, commit ${commit}` : ''})\n`);
    return 0;
  },
};
