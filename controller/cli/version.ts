import { NAME } from '../../shared/name.ts';
import { buildInfo } from '../../shared/runtime/build.ts';
import { noArguments } from './ask.ts';
import type { Command } from './command.ts';

export const version: Command = {
  usage: '',
  summary: 'Prints version, Node version and, where known, the git commit.',
  flags: [],
  run: async (flags, terminal) => {
    noArguments('version', flags);
    const { version, commit } = buildInfo();
    terminal.out(`${NAME} ${version} (Node ${process.versions.node}${commit ? `, commit ${commit}` : ''})\n`);
    return 0;
  },
};
