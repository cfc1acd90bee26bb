import { NAME } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import { CONFIG_FLAG, readableConfig } from '../flags.ts';
import { compileFile } from '../sources/file/compile.ts';
import { formatDiagnostic } from '../sources/file/diagnostics.ts';
import type { Command } from './command.ts';

export const validate: Command = {
  usage: '--config PATH',
  summary: 'Checks a config file: "Config valid." and exit 0, or every problem as PATH:LINE:COL: message on stderr and exit 1.',
  flags: [CONFIG_FLAG],
  run: async (flags, terminal) => {
    if (flags.positionals.length > 0) throw new UsageError(`${NAME} validate: name the file with --config ${flags.positionals[0]}`);
    const path = readableConfig('validate', flags.given.get('config')?.value as string | undefined);
    const compiled = await compileFile(path, process.env);
    if (!compiled.ok) {
      for (const diagnostic of compiled.diagnostics) terminal.err(`${formatDiagnostic(diagnostic)}\n`);
      return 1;
    }
    for (const warning of compiled.warnings) terminal.err(`warning: ${formatDiagnostic(warning)}\n`);
    terminal.out('Config valid.\n');
    return 0;
  },
};
