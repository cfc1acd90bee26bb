import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { codeOf } from '../../../../shared/runtime/error-code.ts';
import type { DnsServer } from './exchange.ts';

/** Options for queries to one server; `timeout` in ms. */
const QUESTION = { timeout: 3_000, tries: 2 };
/** CNAME chains longer than this are treated as a mistake; RFC 1034 3.6.2 sets no limit. */
const MAX_ALIASES = 8;
const PLAIN = /^[a-z0-9_][a-z0-9_.-]{0,252}$/;
/** Error codes for a record that does not exist. */
const NONE: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** The system's resolver, and the port of authoritative servers. */
type DnsEnvironment = { system(): Resolver; readonly port: number };

/** Checks whether a record has propagated, as an authority would see it. */
export class PropagationCheck {
  private readonly server: DnsServer | null;
  private readonly environment: DnsEnvironment;

  /** Queries only `server`; null: finds the zone's authoritative servers with the system's resolver and queries those. */
  constructor(server: DnsServer | null, environment: DnsEnvironment = { system: () => new Resolver(QUESTION), port: 53 }) {
    this.server = server;
    this.environment = environment;
  }

  /** Follows CNAMEs to the name that must hold the record. @throws the resolver's error. */
  async resolveAlias(name: string): Promise<string> {
    const resolver = await this.resolver();
    let end = name;
    for (let aliases = 0; aliases < MAX_ALIASES; aliases++) {
      const [next] = await emptyIfAbsent(resolver.resolveCname(end));
      if (next === undefined) return end;
      end = next.toLowerCase();
      // It is passed to programs and written into messages.
      if (!PLAIN.test(end)) throw new Error(`${name} is an alias of something that is not a valid name: ${JSON.stringify(end)}`);
    }
    throw new Error(`${name} is the start of a chain of more than ${MAX_ALIASES} aliases`);
  }

  /** Whether every authoritative server that answers has a TXT record with this value. @throws the resolver's error. */
  async hasPropagated(name: string, value: string): Promise<boolean> {
    if (this.server !== null) return hasTxt(await this.resolver(), name, value);
    const found = await Promise.allSettled((await this.authoritative(name)).map((resolver) => hasTxt(resolver, name, value)));
    const answers = found.filter((one) => one.status === 'fulfilled');
    // Where a firewall allows only the system's resolver, rely on that.
    if (answers.length === 0) return hasTxt(this.environment.system(), name, value);
    return answers.every((answer) => answer.value);
  }

  /** A resolver for each authoritative server of the name's zone. */
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

/** A record that does not exist is a valid answer; any other error is thrown. */
async function emptyIfAbsent<T>(asked: Promise<T[]>): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    if (NONE.has(codeOf(error))) return [];
    throw error;
  }
}

const emptyOnError = <T>(asked: Promise<T[]>): Promise<T[]> => asked.catch(() => []);
