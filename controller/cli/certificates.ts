import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { ASKING_FLAGS, ask, clientOf, noArguments, wantsJson } from './ask.ts';
import type { Command } from './command.ts';
import { table } from './table.ts';

export const certificates: Command = {
  usage: '[flags]',
  summary: 'Lists certificates, until when they are good, when they are renewed, and what hinders those that are missing.',
  flags: ASKING_FLAGS,
  run: async (flags, terminal) => {
    noArguments('certificates', flags);
    const list = await ask<CertificateRecord[]>(clientOf(flags), '/certificates');
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(list, null, 2)}\n`);
    else if (list.length === 0) terminal.out('There are no certificates, and none are ordered.\n');
    else terminal.out(table(terminal, ['DOMAINS', 'SOURCE', 'ISSUER', 'GOOD UNTIL', 'RENEWED', 'NOTES'], list.map(rowOf)));
    return 0;
  },
};

function rowOf({ domains, source, issuer, not_after, renew_at, last_error, next_try }: CertificateRecord): string[] {
  const notes = last_error === null ? '' : `${last_error}${next_try === null ? '' : `; next try ${minuteOf(next_try)}`}`;
  return [domains.join(', ') || '-', source, issuer ?? '-', minuteOf(not_after), minuteOf(renew_at), notes];
}

/** `2026-03-01 12:30`, in UTC as everything is. */
const minuteOf = (time: string | null): string => (time === null ? '-' : time.slice(0, 16).replace('T', ' '));
