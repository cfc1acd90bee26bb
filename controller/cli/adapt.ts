import { redacted } from '../../shared/redacted.ts';
import type { Flag } from '../../shared/runtime/flags.ts';
import { CONFIG_FLAG } from '../flags.ts';
import type { Command } from './command.ts';
import { readConfig } from './config-file.ts';

const SECRETS_FLAG: Flag = { name: 'secrets', kind: 'switch', help: 'print password hashes and keys as they are' };

export const adapt: Command = {
  usage: '--config PATH [--secrets]',
  summary:
    'Prints the routes that a config file comes to, as JSON: each is what POST /routes takes and GET /routes?view=full answers.\nPassword hashes are not shown, unless --secrets says so; the certificates and keys that\n`tls` names never are.\nMistakes in the file: as validate, exit 1.',
  flags: [CONFIG_FLAG, SECRETS_FLAG],
  run: async (flags, terminal) => {
    const config = await readConfig('adapt', flags, terminal);
    if (config === null) return 1;
    const secrets = flags.given.get('secrets')?.value === true;
    terminal.out(`${JSON.stringify(secrets ? config.routes : config.routes.map(redacted), null, 2)}\n`);
    return 0;
  },
};
