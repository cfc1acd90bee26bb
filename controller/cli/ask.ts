import { type AdminAddress, parseAdminAddress, verifiedBy } from '../../shared/api/admin-address.ts';
import { type AdminAnswer, type AdminClient, createAdminClient, TOKEN_VARIABLE } from '../../shared/api/admin-client.ts';
import { ADMIN_SOCKET_FILE, DEFAULT_STATE_DIR, NAME } from '../../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../../shared/runtime/flags.ts';
import { type Parsed, refused } from '../../shared/values/parsed.ts';
import { DATAPLANE_CA_FLAG, isRootsFlag, rootsOf } from '../dataplane-roots.ts';
import { CommandError } from './command.ts';
import { firstThatAnswers, likelyAddresses } from './find-admin.ts';

export const ADMIN_FLAG: Flag = {
  name: 'admin',
  kind: 'value',
  placeholder: 'ADDRESS',
  help: `the data plane to query: HOST:PORT, https://HOST:PORT or unix:PATH; over TCP the token is read from ${TOKEN_VARIABLE}`,
  default: `the socket in the state directory, the default admin socket or port: the first that answers`,
  parse: readAddress,
};

/** As `parseAdminAddress`, with the right spelling of what people write instead. */
function readAddress(text: string): Parsed<AdminAddress> {
  if (text.includes('/') && !/^(?:unix:|https?:\/\/)/i.test(text)) return refused(`a socket is written unix:${text}`);
  return parseAdminAddress(text);
}

export const JSON_FLAG: Flag = { name: 'json', kind: 'switch', help: 'print the result as JSON' };

const STATE_DIR_FLAG: Flag = {
  name: 'state-dir',
  kind: 'value',
  placeholder: 'PATH',
  help: `state directory of the running process; its Admin API is reached through ${ADMIN_SOCKET_FILE} in it`,
  default: DEFAULT_STATE_DIR,
};

/** Flags of every command that asks the data plane. */
export const ASKING_FLAGS: readonly Flag[] = [ADMIN_FLAG, DATAPLANE_CA_FLAG, STATE_DIR_FLAG, JSON_FLAG];

export type RequestClient = Pick<AdminClient, 'request'>;

/** A client for the address that was named, else for the first likely one that answers. */
export function clientOf(flags: Flags): RequestClient {
  const token = process.env[TOKEN_VARIABLE];
  const [address, ...others] = addressesOf(flags);
  if (address !== undefined && others.length === 0) return createAdminClient({ address, token });
  return firstThatAnswers(addressesOf(flags), token);
}

/** The address that was named, else all likely ones. @throws UsageError where roots are named that nothing is verified by. */
export function addressesOf(flags: Flags): readonly AdminAddress[] {
  const address = flags.given.get('admin')?.value as AdminAddress | undefined;
  if (address?.kind !== 'tls' && isRootsFlag(flags))
    throw new UsageError(`--${DATAPLANE_CA_FLAG.name} is for a data plane over TLS; name that with --admin https://HOST:PORT`);
  if (address !== undefined) return [verifiedBy(address, rootsOf(flags))];
  const stateDir = (flags.given.get('state-dir')?.value as string | undefined) ?? DEFAULT_STATE_DIR;
  return likelyAddresses(stateDir, process.env);
}

export const wantsJson = (flags: Flags): boolean => flags.given.get('json')?.value === true;

/** GET, and the answer's JSON. @throws CommandError for any other status than 200. */
export async function ask<T>(client: RequestClient, path: string): Promise<T> {
  return JSON.parse(textOf(await client.request('GET', path))) as T;
}

/** The answer as it is. @throws CommandError for any other status than 200. */
export function textOf(answer: AdminAnswer): string {
  if (answer.status !== 200) throw new CommandError(`the data plane answered ${answer.status}: ${errorIn(answer)}`);
  return answer.text;
}

/** The message of an error envelope, or what there is instead. */
export function errorIn({ text }: AdminAnswer): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? unescaped(error) : text.slice(0, 200);
  } catch (error) {
    if (error instanceof SyntaxError) return text.slice(0, 200) || 'nothing';
    throw error;
  }
}

/** The API escapes for pages what a terminal shows as it is. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** @throws UsageError when words are left that nobody asked for. */
export function noArguments(command: string, { positionals }: Flags): void {
  if (positionals.length > 0) throw new UsageError(`${NAME} ${command}: takes no arguments, got "${positionals[0]}"`);
}
