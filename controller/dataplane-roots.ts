import { readFileSync } from 'node:fs';
import type { Roots } from '../shared/api/admin-address.ts';
import type { Flag, Flags } from '../shared/runtime/flags.ts';
import { readAuthorities } from '../shared/transport.ts';
import { accepted, type Parsed, refused } from '../shared/values/parsed.ts';

const NAME = 'dataplane-ca';

/** Of the controller, and of every command that asks a data plane. */
export const DATAPLANE_CA_FLAG: Flag = {
  name: NAME,
  kind: 'value',
  placeholder: 'PATH',
  help: 'root certificates to verify data planes at https://HOST:PORT with, in PEM',
  default: 'those that Node knows, and NODE_EXTRA_CA_CERTS',
  parse: readRoots,
};

/** Those that `--dataplane-ca` names; null where it does not stand. */
export const rootsOf = ({ given }: Flags): Roots | null => (given.get(NAME)?.value as Roots | undefined) ?? null;

/** Whether somebody wrote it on the command line: in the environment it may stand for other commands. */
export const isRootsFlag = ({ given }: Flags): boolean => given.get(NAME)?.origin === 'flag';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read by this user',
  EISDIR: 'it is a directory; name the file',
};

function readRoots(path: string): Parsed<Roots> {
  try {
    const read = readAuthorities(readFileSync(path, 'utf8'));
    return read.ok ? accepted({ path, pem: read.value }) : read;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    return refused(REASONS[code] ?? message);
  }
}
