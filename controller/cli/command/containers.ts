import { existsSync } from 'node:fs';
import { type AdminAddress, formatAdminAddress, parseAdminAddress } from '../../../shared/api/admin-address.ts';
import { AdminUnreachable, createAdminClient } from '../../../shared/api/admin-client.ts';
import { controllerSocketBeside } from '../../../shared/api/controller-socket.ts';
import { DEFAULT_CONTROLLER_LISTEN, TOKEN_VARIABLE } from '../../../shared/name.ts';
import type { Flag, Flags } from '../../../shared/runtime/flags.ts';
import { splitAddress } from '../../../shared/values/address.ts';
import { isLoopback } from '../../../shared/values/loopback.ts';
import { type Parsed, refused } from '../../../shared/values/parsed.ts';
import type { ObjectCondition } from '../../sources/source.ts';
import type { ClusterObjectStatus, ContainerStatus } from '../../status/containers.ts';
import type { ControllerReport } from '../../status/report.ts';
import { placesOf } from './admin-query.ts';
import type { Terminal } from './command.ts';
import { table } from './table.ts';

export const CONTROLLER_FLAG: Flag = {
  name: 'controller',
  placeholder: 'ADDRESS',
  help: `where the controller serves its status, for containers and objects of a cluster: HOST:PORT or unix:PATH; over TCP the token is read from ${TOKEN_VARIABLE}`,
  default: `the controller's socket beside that of the data plane, else ${DEFAULT_CONTROLLER_LISTEN}`,
  parse: readAddress,
};

/** The status is served only to the controller's own machine: it has no TLS, and the token is never sent unencrypted. */
function readAddress(text: string): Parsed<AdminAddress> {
  const { host, port } = splitAddress(text);
  const isElsewhere = !text.startsWith('unix:') && /^\d+$/.test(port) && !isLoopback(host);
  if (!isElsewhere) return parseAdminAddress(text);
  return refused(
    'the status of a controller is served only to its own machine; forward its port (ssh -L) and use that address, or run the command there',
  );
}

/** The objects found by the controller, or why it can't be queried: only the controller knows those without a route. */
export type Discovered =
  | { readonly containers: readonly ContainerStatus[]; readonly clusterObjects: readonly ClusterObjectStatus[] }
  | { readonly unknown: string };

/** Sources whose objects may have no route. */
export const DISCOVERING_SOURCES: ReadonlySet<string> = new Set(['docker', 'kubernetes']);

export const NOTHING_DISCOVERED: Discovered = { containers: [], clusterObjects: [] };

export async function queryDiscovered(flags: Flags): Promise<Discovered> {
  const named = flags.given.get('controller')?.value as AdminAddress | undefined;
  const token = process.env[TOKEN_VARIABLE];
  let answer: Discovered = { unknown: 'no controller was queried' };
  for (const address of named === undefined ? likelyControllers(flags) : [named]) {
    answer = await queryOne(address, token);
    if (!('unknown' in answer)) return answer;
  }
  return answer;
}

async function queryOne(address: AdminAddress, token: string | undefined): Promise<Discovered> {
  const where = formatAdminAddress(address);
  try {
    const { status, text } = await createAdminClient({ address, token }).request('GET', '/status');
    const report = status === 200 ? (JSON.parse(text) as Partial<ControllerReport>) : {};
    const { containers, cluster_objects: clusterObjects = [] } = report;
    return Array.isArray(containers) ? { containers, clusterObjects } : { unknown: `the server at ${where} is not a controller` };
  } catch (error) {
    if (error instanceof AdminUnreachable) return { unknown: `the controller at ${where} cannot be queried: ${error.reason}` };
    if (error instanceof SyntaxError) return { unknown: `the server at ${where} is not a controller` };
    throw error;
  }
}

/** Next to each likely socket of the data plane, then the default address. */
function likelyControllers(flags: Flags): AdminAddress[] {
  const sockets = placesOf(flags).addresses.flatMap((one) => (one.kind === 'unix' ? [controllerSocketBeside(one.path)] : []));
  const tcp = parseAdminAddress(DEFAULT_CONTROLLER_LISTEN);
  return [
    ...sockets.filter((path) => existsSync(path)).map((path): AdminAddress => ({ kind: 'unix', path })),
    ...(tcp.ok ? [tcp.value] : []),
  ];
}

/** The list in `status`. */
export function describeContainers(terminal: Terminal, containers: readonly ContainerStatus[]): string {
  const rows = containers.map((one) => {
    const { fact, words } = stateOf(one);
    return [one.container, poolOf(one), one.address ?? '-', words, fact.since, whyOf(one, fact)];
  });
  return table(terminal, ['CONTAINER', 'POOL', 'ADDRESS', 'STATE', 'SINCE', 'WHY'], rows);
}

/** The list of cluster objects in `status`. */
export function describeClusterObjects(terminal: Terminal, objects: readonly ClusterObjectStatus[]): string {
  const rows = objects.map((one) => {
    const { fact, words } = stateOf(one);
    return [one.origin, poolOf(one), words, fact.since, whyOf(one, fact)];
  });
  return table(terminal, ['OBJECT', 'HOSTS', 'STATE', 'SINCE', 'WHY'], rows);
}

/** One line of `explain`. */
export function describeClusterObject(object: ClusterObjectStatus): string {
  const { fact, words } = stateOf(object);
  return `${object.origin}: ${words} since ${fact.since}: ${whyOf(object, fact)}${besideIt(object, 'also with this host')}`;
}

/** One line of `explain`. */
export function describeContainer(container: ContainerStatus): string {
  const { fact, words } = stateOf(container);
  return `${container.origin.replace(/^container /, '')}: ${words} since ${fact.since}: ${whyOf(container, fact)}${besideIt(container, 'also in its pool')}`;
}

/** How many domains of an object are listed: one with thousands would make every line as long. `explain` finds it by each of them. */
const MAX_DOMAINS = 4;

/** The list contains the whole pool, so a few names and the number of others are enough. */
function poolOf({ domains, others }: Pick<ContainerStatus, 'domains' | 'others'>): string {
  const [shown, more] = [domains.slice(0, MAX_DOMAINS).join(', ') || '-', domains.length - MAX_DOMAINS];
  const pool = more > 0 ? `${shown} and ${more} more` : shown;
  return others.count === 0 ? pool : `${pool} (+${others.count})`;
}

function besideIt({ others: { count, names } }: Pick<ContainerStatus, 'others'>, what: string): string {
  if (count === 0) return '';
  return `; ${what}: ${names.join(', ')}${count > names.length ? ` and ${count - names.length} more` : ''}`;
}

/** The first of the three conditions that is not met, else the last, with a description of the state. */
function stateOf({ accepted, resolved, programmed }: Pick<ContainerStatus, 'accepted' | 'resolved' | 'programmed'>): {
  fact: ObjectCondition;
  words: string;
} {
  const isServed = resolved.holds && Object.keys(programmed).length > 0;
  if (!accepted.holds) return { fact: accepted, words: isServed ? 'not accepted, routed as before' : 'not accepted' };
  if (!resolved.holds) return { fact: resolved, words: 'accepted, not resolved' };
  const served = Object.values(programmed);
  const refusal = served.find(({ holds }) => !holds) ?? (served.length === 0 ? { ...resolved, holds: false, reason: NOT_YET } : undefined);
  return refusal
    ? { fact: refusal, words: 'accepted, resolved, not programmed' }
    : { fact: resolved, words: 'accepted, resolved, programmed' };
}

const NOT_YET = 'no data plane has applied its route yet';

const whyOf = ({ change }: Pick<ContainerStatus, 'change'>, { reason }: ObjectCondition): string =>
  change === null ? reason : `${reason}; what would change it: ${change}`;
