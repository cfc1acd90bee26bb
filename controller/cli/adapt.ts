import { redacted } from '../../shared/redacted.ts';
import type { Flag } from '../../shared/runtime/flags.ts';
import { CONFIG_FLAG } from '../flags.ts';
import type { Command } from './command/command.ts';
import { readConfig } from './command/config-file.ts';

const SECRETS_FLAG: Flag = { name: 'secrets', kind: 'switch', help: 'print everything in full' };

export const adapt: Command = {
  usage: '--config PATH [--secrets]',
  summary:
    'Prints the routes that a config file compiles to, as JSON, in the format of POST /routes and GET /routes?view=full.\nPassword hashes, keys of tls_client_auth, values of request_header and uri query, those that conditions compare headers and parameters with,\nand queries of rewrite, forward_auth and health_uri are redacted unless --secrets is given;\ncertificates and keys named by `tls` are never shown.\nIf the file has errors, prints them as validate does and exits with 1.',
  flags: [CONFIG_FLAG, SECRETS_FLAG],
  run: async (flags, terminal) => {
    const config = await readConfig('adapt', flags, terminal);
    if (config === null) return 1;
    const secrets = flags.given.get('secrets')?.value === true;
    terminal.out(`${JSON.stringify(secrets ? config.routes : config.routes.map(redacted), null, 2)}\n`);
    return 0;
  },
};
