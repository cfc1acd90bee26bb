import { NAME } from '../../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../../shared/runtime/flags.ts';
import { inShell } from '../../shared/values/in-shell.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { clientOf, getJson, noArguments, QUERY_FLAGS, refusalOf, textOf, wantsJson } from './command/admin-query.ts';
import { type Command, CommandError, type Terminal } from './command/command.ts';
import { table } from './command/table.ts';
import { plainLines } from './command/terminal.ts';

const ROOT_FLAG: Flag = { name: 'root', kind: 'switch', help: 'print the root of the internal authority instead, in PEM' };

const RETRY_FLAG: Flag = {
  name: 'retry',
  placeholder: 'NAME',
  help: 'retry the failed order for this name now instead of waiting for its next attempt',
};

export const certificates: Command = {
  usage: '[flags]',
  summary: 'Lists certificates, when they expire, when they are renewed, and why any are missing.',
  flags: [...QUERY_FLAGS, ROOT_FLAG, RETRY_FLAG],
  run: async (flags, terminal) => {
    noArguments('certificates', flags);
    if (flags.given.get('root')?.value === true) return printRoot(flags, terminal);
    const retried = flags.given.get('retry')?.value as string | undefined;
    if (retried !== undefined) return retry(retried, flags, terminal);
    const list = await getJson<CertificateRecord[]>(clientOf(flags), '/certificates');
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(list, null, 2)}\n`);
    else if (list.length === 0) terminal.out('There are no certificates, and none are ordered.\n');
    else terminal.out(table(terminal, ['DOMAINS', 'SOURCE', 'ISSUER', 'GOOD UNTIL', 'RENEWAL', 'NOTES'], list.map(rowOf)));
    return 0;
  },
};

async function printRoot(flags: Flags, terminal: Terminal): Promise<number> {
  if (wantsJson(flags)) throw new UsageError(`${NAME} certificates: --root prints PEM, not JSON; leave out --json`);
  const answer = await clientOf(flags).request('GET', '/certificates/root');
  if (answer.status === 404)
    throw new CommandError(
      'there is no root yet: no site uses the internal authority; enable it for one site with `tls internal`, or for all with `local_certs`',
    );
  terminal.out(plainLines(textOf(answer)));
  return 0;
}

async function retry(name: string, flags: Flags, terminal: Terminal): Promise<number> {
  const answer = await clientOf(flags).request('POST', `/certificates/${encodeURIComponent(name)}`);
  if (answer.status === 404)
    throw new CommandError(
      `no order for ${name} is waiting for a retry: none has failed, or none is needed; ${NAME} explain ${inShell(name)} shows how it gets its certificate`,
    );
  if (answer.status !== 202) throw refusalOf(answer);
  terminal.out(
    wantsJson(flags) ? `${plainLines(answer.text)}\n` : `${name} is being ordered now; ${NAME} certificates shows the result.\n`,
  );
  return 0;
}

function rowOf({ domains, source, issuer, not_after, renew_at, last_error, next_try }: CertificateRecord): string[] {
  const notes = last_error === null ? '' : `${last_error}${next_try === null ? '' : `; next try ${minuteOf(next_try)}`}`;
  return [domains.join(', ') || '-', source, issuer ?? '-', minuteOf(not_after), minuteOf(renew_at), notes];
}

/** `2026-03-01 12:30`, in UTC like all times. */
const minuteOf = (time: string | null): string => (time === null ? '-' : time.slice(0, 16).replace('T', ' '));
