import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { DnsServer } from './exchange.ts';

/** One question to one server (ms, and how often). */
const QUESTION = { timeout: 3_000, tries: 2 };
/** RFC 1034 3.6.2 has names point on, and sets no limit; nobody means more than this. */
const MOST_ALIASES = 8;
const PLAIN = /^[a-z0-9_][a-z0-9_.-]{0,252}$/;
/** What a server says that knows of no such record. */
const NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** The DNS around us: the system's resolver, and the port at which the servers of zones answer. */
type DnsEnvironment = { system(): Resolver; readonly port: number };

/** What an authority would see that asks the DNS about us. */
export class PropagationCheck {
  private readonly server: DnsServer | null;
  private readonly environment: DnsEnvironment;

  /** `server` answers every question; null: the system's resolver finds the servers of a zone, which are then asked. */
  constructor(server: DnsServer | null, around: DnsEnvironment = { system: () => new Resolver(QUESTION), port: 53 }) {
    this.server = server;
    this.environment = around;
  }

  /** The name where a record for this one has to stand: what it is an alias of, if it is one. @throws the resolver's error. */
  async resolveAlias(name: string): Promise<string> {
    const resolver = await this.resolver();
    let end = name;
    for (let aliases = 0; aliases < MOST_ALIASES; aliases++) {
      const [next] = await emptyIfAbsent(resolver.resolveCname(end));
      if (next === undefined) return end;
      end = next.toLowerCase();
      // It is handed to programs and written into messages.
      if (!PLAIN.test(end)) throw new Error(`${name} is an alias of what is no name: ${JSON.stringify(end)}`);
    }
    throw new Error(`${name} is an alias of an alias, more than ${MOST_ALIASES} times`);
  }

  /** Whether a TXT record with this value is there for everybody: at each server of its zone that answers. @throws the resolver's error. */
  async hasPropagated(name: string, value: string): Promise<boolean> {
    if (this.server !== null) return hasTxt(await this.resolver(), name, value);
    const found = await Promise.allSettled((await this.authoritative(name)).map((resolver) => hasTxt(resolver, name, value)));
    const answers = found.filter((one) => one.status === 'fulfilled');
    // Where only the system's resolver may be asked, what it says has to do.
    if (answers.length === 0) return hasTxt(this.environment.system(), name, value);
    return answers.every((answer) => answer.value);
  }

  /** A resolver for each server of the zone that the name is in. */
  private async authoritative(name: string): Promise<Resolver[]> {
    const resolver = this.environment.system();
    for (let zone = name; zone.includes('.'); zone = zone.slice(zone.indexOf('.') + 1)) {
      const servers = await emptyIfAbsent(resolver.resolveNs(zone));
      if (servers.length === 0) continue;
      const addresses = await Promise.all(
        servers.flatMap((server) => [emptyOnError(resolver.resolve4(server)), emptyOnError(resolver.resolve6(server))]),
      );
      return addresses.flat().map((address) => resolverFor({ host: address, port: this.environment.port }));
    }
    return [];
  }

  private async resolver(): Promise<Resolver> {
    if (this.server === null) return this.environment.system();
    const { host, port } = this.server;
    return resolverFor({ host: isIP(host) === 0 ? (await lookup(host)).address : host, port });
  }
}

function resolverFor({ host, port }: DnsServer): Resolver {
  const resolver = new Resolver(QUESTION);
  resolver.setServers([isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`]);
  return resolver;
}

async function hasTxt(resolver: Resolver, name: string, value: string): Promise<boolean> {
  const records = await emptyIfAbsent(resolver.resolveTxt(name));
  return records.some((pieces) => pieces.join('') === value);
}

/** No such record is an answer; anything else is none. */
async function emptyIfAbsent<T>(asked: Promise<T[]>): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && 'code' in error && NONE.has(String(error.code))) return [];
    throw error;
  }
}

const emptyOnError = <T>(asked: Promise<T[]>): Promise<T[]> => asked.catch(() => []);
