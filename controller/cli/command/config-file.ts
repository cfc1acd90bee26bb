import { NAME } from '../../../shared/name.ts';
import { type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import { readableConfig } from '../../flags.ts';
import { type Compiled, compileFile } from '../../sources/file/compile.ts';
import type { Terminal } from './command.ts';
import { reportProblems } from './problems.ts';

export type GoodConfig = Extract<Compiled, { ok: true }>;

/** Compiles the config file of `--config`. @throws UsageError if it can't be read, or for positional arguments. */
export async function compileNamed(command: string, flags: Flags): Promise<Compiled> {
  if (flags.positionals.length > 0) throw new UsageError(`${NAME} ${command}: specify the file with --config ${flags.positionals[0]}`);
  return compileFile(readableConfig(command, flags.given.get('config')?.value as string | undefined), process.env);
}

/** As `compileNamed`, and prints all errors and warnings of the file on stderr. @returns null if there are errors, for exit 1. */
export async function readConfig(command: string, flags: Flags, terminal: Terminal): Promise<GoodConfig | null> {
  const compiled = await compileNamed(command, flags);
  if (!compiled.ok) {
    reportProblems(compiled.diagnostics, terminal, 'error');
    return null;
  }
  reportProblems(compiled.warnings, terminal, 'warning');
  return compiled;
}
