import type { ReloadResult } from '../../shared/wire/status.ts';
import { clientOf, errorIn, jsonIn, noArguments, QUERY_FLAGS, refusalOf, unescaped, wantsJson } from './command/admin-query.ts';
import { type Command, CommandError } from './command/command.ts';
import { plain } from './command/terminal.ts';

const COOLDOWN_EXIT = 4;

export const reload: Command = {
  usage: '[flags]',
  summary:
    "Re-reads the config file and waits for the result: what was applied, or the file's errors and exit 1.\nExits with 4 during the cooldown after the last reload, and with 5 if the Admin API can't be reached.",
  flags: QUERY_FLAGS,
  run: async (flags, terminal) => {
    noArguments('reload', flags);
    const answer = await clientOf(flags).request('POST', '/reload?wait=true');
    if (answer.status === 200) {
      const { message, applied } = jsonIn<ReloadResult>(answer, 'message');
      terminal.out(
        wantsJson(flags)
          ? `${JSON.stringify({ applied: applied ?? null, errors: [] }, null, 2)}\n`
          : `${plain(applied ? describeApplied(applied) : message)}\n`,
      );
      return 0;
    }
    if (answer.status === 422) {
      const { errors = [] } = JSON.parse(answer.text) as { errors?: string[] };
      if (wantsJson(flags)) terminal.out(`${JSON.stringify({ applied: null, errors: errors.map(unescaped) }, null, 2)}\n`);
      else terminal.err(errors.length > 0 ? errors.map((error) => `${plain(unescaped(error))}\n`).join('') : `${errorIn(answer)}\n`);
      return 1;
    }
    const error = errorIn(answer);
    if (answer.status === 429 && error === 'reload too soon') {
      const { retry_after } = JSON.parse(answer.text) as { retry_after?: number };
      throw new CommandError(plain(`reload too soon, try again in ${retry_after ?? 5} s`), COOLDOWN_EXIT);
    }
    throw refusalOf(answer);
  },
};

/** A controller sends only differences, so without any there is nothing to count. */
function describeApplied({ added, changed, removed, unchanged }: NonNullable<ReloadResult['applied']>): string {
  if (added + changed + removed === 0) return 'Nothing changed: the configuration is already in effect.';
  return `Applied: ${added} added, ${changed} changed, ${removed} removed, ${unchanged} unchanged.`;
}
