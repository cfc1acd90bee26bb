import { readFileSync } from 'node:fs';
import type { Roots } from '../shared/api/admin-address.ts';
import { readAuthorities } from '../shared/certificates/authorities.ts';
import type { Flag, Flags } from '../shared/runtime/flags.ts';
import { accepted, type Parsed, refused } from '../shared/values/parsed.ts';

const NAME = 'dataplane-ca';

/** For the controller, and for every command that queries a data plane. */
export const DATAPLANE_CA_FLAG: Flag = {
  name: NAME,
  placeholder: 'PATH',
  help: 'root certificates to verify data planes at https://HOST:PORT with, in PEM',
  default: "Node's own and those in NODE_EXTRA_CA_CERTS",
  parse: readRoots,
};

/** The roots of `--dataplane-ca`; null if it is absent. */
export const rootsOf = ({ given }: Flags): Roots | null => (given.get(NAME)?.value as Roots | undefined) ?? null;

/** Whether it was given on the command line: in the environment it may be meant for other commands. */
export const isRootsFlag = ({ given }: Flags): boolean => given.get(NAME)?.origin === 'flag';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied for this user',
  EISDIR: 'it is a directory; specify a file',
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
