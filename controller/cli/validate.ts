import { CONFIG_FLAG } from '../flags.ts';
import type { Command } from './command.ts';
import { readConfig } from './config-file.ts';

export const validate: Command = {
  usage: '--config PATH',
  summary: 'Checks a config file: "Config valid." and exit 0, or every problem as PATH:LINE:COL: message on stderr and exit 1.',
  flags: [CONFIG_FLAG],
  run: async (flags, terminal) => {
    if ((await readConfig('validate', flags, terminal)) === null) return 1;
    terminal.out('Config valid.\n');
    return 0;
  },
};
