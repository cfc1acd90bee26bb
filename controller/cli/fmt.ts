import { chmod, chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { NAME } from '../../shared/name.ts';
import { type Flag, UsageError } from '../../shared/runtime/flags.ts';
import { inShell } from '../../shared/values/in-shell.ts';
import { CONFIG_FLAG, readableConfig } from '../flags.ts';
import { layOut } from '../sources/file/layout.ts';
import { readContent } from '../sources/file/text/read.ts';
import { type Command, CommandError } from './command/command.ts';
import { reportProblems } from './command/problems.ts';

const CHECK_FLAG: Flag = { name: 'check', kind: 'switch', help: 'print nothing; exit 1 if the format differs' };
const WRITE_FLAG: Flag = { name: 'write', kind: 'switch', help: 'write the file instead of printing it' };

export const fmt: Command = {
  usage: '--config PATH [--check|--write]',
  summary:
    'Prints a config file in canonical format. Words, comments and their order do not change.\nIf braces or strings are not closed, prints and writes nothing and exits with 1.',
  flags: [CONFIG_FLAG, CHECK_FLAG, WRITE_FLAG],
  run: async (flags, terminal) => {
    if (flags.positionals.length > 0) throw new UsageError(`${NAME} fmt: specify the file with --config ${flags.positionals[0]}`);
    const [check, write] = [flags.given.get('check')?.value === true, flags.given.get('write')?.value === true];
    if (check && write) throw new UsageError(`${NAME} fmt: use either --check or --write, not both`);
    const path = readableConfig('fmt', flags.given.get('config')?.value as string | undefined);
    const content = await readContent(path);
    if (!content.ok) fail(path, content.reason);
    const bytes = content.value;
    const layout = layOut(bytes, path);
    if (!layout.ok) {
      reportProblems(layout.diagnostics, terminal, 'error');
      return 1;
    }
    const differs = !bytes.equals(Buffer.from(layout.text));
    if (check && differs)
      terminal.err(`${path}: not in canonical format; run ${NAME} fmt --config ${inShell(path)} --write to format it\n`);
    if (check) return differs ? 1 : 0;
    if (!write) terminal.out(layout.text);
    else if (differs) await replace(path, layout.text).catch((error: unknown) => fail(path, `it can't be written: ${codeOf(error)}`));
    return 0;
  },
};

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : String(error));

function fail(path: string, reason: string): never {
  throw new CommandError(`${path}: ${reason}`);
}

/**
 * Renamed into place, so that programs watching the file never read half of it. Links remain links. All who may
 * read the file, such as the user of the service, still may, and nobody else at any time.
 */
async function replace(path: string, text: string): Promise<void> {
  const target = await realpath(path);
  const { mode, uid, gid } = await stat(target);
  const fresh = `${target}.${process.pid}.tmp`;
  try {
    await writeFile(fresh, text, { flag: 'wx', mode: 0o600 });
    const own = await stat(fresh);
    if (own.uid !== uid || own.gid !== gid) await chown(fresh, uid, gid);
    await chmod(fresh, mode);
    await rename(fresh, target);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
