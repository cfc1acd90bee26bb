import { type AdminAddress, parseAdminAddress, verifiedBy } from '../../../shared/api/admin-address.ts';
import { type AdminAnswer, type AdminClient, AdminUnreachable, createAdminClient } from '../../../shared/api/admin-client.ts';
import { WHERE } from '../../../shared/api/connection-failure.ts';
import { ADMIN_SOCKET_FILE, DEFAULT_STATE_DIR, DEPLOYED_ADMIN_SOCKET, NAME, TOKEN_VARIABLE } from '../../../shared/name.ts';
import { type Flag, type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import { type Parsed, refused } from '../../../shared/values/parsed.ts';
import { DATAPLANE_CA_FLAG, isRootsFlag, rootsOf } from '../../dataplane-roots.ts';
import { CommandError } from './command.ts';
import { firstThatAnswers, likelyAddresses, type Places } from './find-admin.ts';
import { plain } from './terminal.ts';

const ADMIN_FLAG: Flag = {
  name: 'admin',
  placeholder: 'ADDRESS',
  help: `the data plane to query: HOST:PORT, https://HOST:PORT or unix:PATH; over TCP the token is read from ${TOKEN_VARIABLE}`,
  default: `the socket in the state directory, ${DEPLOYED_ADMIN_SOCKET}, the default admin socket or port: the first that answers`,
  parse: readAddress,
};

/** As `parseAdminAddress`, with a hint for common misspellings. */
function readAddress(text: string): Parsed<AdminAddress> {
  if (text.includes('/') && !/^(?:unix:|https?:\/\/)/i.test(text)) return refused(`write a socket as unix:${text}`);
  return parseAdminAddress(text);
}

export const JSON_FLAG: Flag = { name: 'json', kind: 'switch', help: 'print the result as JSON' };

const STATE_DIR_FLAG: Flag = {
  name: 'state-dir',
  placeholder: 'PATH',
  help: `state directory of the running process; its Admin API is reached through ${ADMIN_SOCKET_FILE} in it; if nothing runs with a given one, no other process is asked`,
  default: DEFAULT_STATE_DIR,
};

/** Which data plane a command is about. */
export const ADMIN_FLAGS: readonly Flag[] = [ADMIN_FLAG, DATAPLANE_CA_FLAG, STATE_DIR_FLAG];
/** Flags of every command that queries the data plane. */
export const QUERY_FLAGS: readonly Flag[] = [...ADMIN_FLAGS, JSON_FLAG];

export type RequestClient = Pick<AdminClient, 'request'>;

/** A client for the given address, else for the first likely address that responds. */
export function clientOf(flags: Flags): RequestClient {
  const token = process.env[TOKEN_VARIABLE];
  const places = placesOf(flags);
  const [address, ...others] = places.addresses;
  if (address !== undefined && others.length === 0) return createAdminClient({ address, token });
  return firstThatAnswers(places, token);
}

/** The given address, else all likely ones. @throws UsageError if roots are given but not used. */
export function placesOf(flags: Flags): Places {
  const [admin, directory] = [flags.given.get('admin'), flags.given.get('state-dir')];
  // What is named here counts more than what the environment names for all commands.
  const isOther = admin?.origin === 'environment' && directory?.origin === 'flag';
  const address = isOther ? undefined : (admin?.value as AdminAddress | undefined);
  if (address?.kind !== 'tls' && isRootsFlag(flags))
    throw new UsageError(`--${DATAPLANE_CA_FLAG.name} is only for a data plane over TLS; specify one with --admin https://HOST:PORT`);
  if (address !== undefined) return { addresses: [verifiedBy(address, rootsOf(flags))], stateDir: null };
  const stateDir = (directory?.value as string | undefined) ?? null;
  return { addresses: likelyAddresses(stateDir ?? DEFAULT_STATE_DIR, process.env), stateDir };
}

export const wantsJson = (flags: Flags): boolean => flags.given.get('json')?.value === true;

/** GET, and the response's JSON. @throws as `jsonIn`. */
export const getJson = async <T>(client: RequestClient, path: string, member?: keyof T & string): Promise<T> =>
  jsonIn<T>(await client.request('GET', path), member);

/** The response's JSON: a list, or an object with at least this member. @throws as `textOf`, and AdminUnreachable if it is something else. */
export function jsonIn<T>(answer: AdminAnswer, member?: keyof T & string): T {
  const value = parsed(textOf(answer));
  if (member === undefined ? Array.isArray(value) : typeof value === 'object' && value !== null && member in value) return value as T;
  throw new AdminUnreachable(answer.address, NOT_A_DATAPLANE);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The response itself. @throws as `refusalOf` says for any status other than 200. */
export function textOf(answer: AdminAnswer): string {
  if (answer.status !== 200) throw refusalOf(answer);
  return answer.text;
}

/** The data plane refused the request, or there is none: every data plane has the endpoints that commands use. */
export const refusalOf = (answer: AdminAnswer): CommandError | AdminUnreachable =>
  answer.status === 404 && errorIn(answer) === 'not found'
    ? new AdminUnreachable(answer.address, NOT_A_DATAPLANE)
    : new CommandError(`the data plane responded with ${answer.status}: ${errorIn(answer)}`);

const NOT_A_DATAPLANE = `what answers there is not the Admin API of a data plane but another program, or a controller; ${WHERE}`;

/** The message of an error envelope, or the raw text, in one line: any program may run at the address. */
export const errorIn = (answer: AdminAnswer): string => plain(messageIn(answer)).trim();

function messageIn({ text }: AdminAnswer): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? unescaped(error) : text.slice(0, 200);
  } catch (error) {
    if (error instanceof SyntaxError) return text.slice(0, 200) || 'nothing';
    throw error;
  }
}

/** Undoes the API's HTML escaping, which a terminal does not need. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** @throws UsageError for positional arguments, which the command does not take. */
export function noArguments(command: string, { positionals }: Flags): void {
  if (positionals.length > 0) throw new UsageError(`${NAME} ${command}: takes no arguments, got "${positionals[0]}"`);
}
