import { CONFIG_FLAG } from '../flags.ts';
import type { Diagnostic } from '../sources/file/diagnostics/diagnostics.ts';
import { JSON_FLAG, wantsJson } from './command/admin-query.ts';
import type { Command } from './command/command.ts';
import { compileNamed, readConfig } from './command/config-file.ts';

export const validate: Command = {
  usage: '--config PATH [--json]',
  summary:
    'Checks a config file. Prints "Config valid." and exits with 0, or prints every problem as PATH:LINE:COL: message on stderr and exits with 1.',
  flags: [CONFIG_FLAG, JSON_FLAG],
  run: async (flags, terminal) => {
    if (wantsJson(flags)) {
      const compiled = await compileNamed('validate', flags);
      const [errors, warnings] = compiled.ok ? [[], compiled.warnings] : [compiled.diagnostics, []];
      const outcome = { valid: compiled.ok, errors: errors.map(asData), warnings: warnings.map(asData) };
      terminal.out(`${JSON.stringify(outcome, null, 2)}\n`);
      return compiled.ok ? 0 : 1;
    }
    if ((await readConfig('validate', flags, terminal)) === null) return 1;
    terminal.out('Config valid.\n');
    return 0;
  },
};

/** `line` and `column` are null for the file as a whole. */
const asData = ({ path, place, message }: Diagnostic) => ({ path, line: place?.line ?? null, column: place?.column ?? null, message });
