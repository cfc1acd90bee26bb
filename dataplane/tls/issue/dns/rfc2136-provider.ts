import { type Answer, decode, encode, type Packet } from 'dns-packet';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { IssueError } from '../issue-error.ts';
import { type DnsServer, exchange } from './exchange.ts';
import type { DnsProvider } from './provider.ts';
import { type SignatureVerdict, sign, type TsigKey, verify } from './tsig.ts';
import { skipName } from './wire-name.ts';

/** The opcode UPDATE (RFC 2136 1.3), shifted to its place in the header flags (RFC 1035 4.1.1). */
const UPDATE = 5 << 11;
/** Class NONE deletes one record from its RRset (RFC 2136 2.5.4). */
const NONE = 254;
const IN = 1;
const HEADER = 12;
/** Long enough for a validation, short enough not to linger in caches (s). */
const TTL = 60;

export type Rfc2136ProviderTools = {
  readonly server: DnsServer;
  /** null: the server authorizes updates by our address. */
  readonly key: TsigKey | null;
  readonly clock: Clock;
  readonly random: Random;
};

type Reply = Packet & { readonly rcode?: string };

/** Sets records with dynamic updates (RFC 2136) at the primary server of the zone, over TCP, signed with TSIG (RFC 8945). */
export class Rfc2136Provider implements DnsProvider {
  private readonly tools: Rfc2136ProviderTools;

  constructor(tools: Rfc2136ProviderTools) {
    this.tools = tools;
  }

  add(name: string, value: string): Promise<void> {
    return this.update({ type: 'TXT', name, ttl: TTL, data: value }, IN);
  }

  remove(name: string, value: string): Promise<void> {
    return this.update({ type: 'TXT', name, ttl: 0, data: value }, NONE);
  }

  private async update(change: Answer & { name: string }, recordClass: number): Promise<void> {
    const zone = await this.zoneOf(change.name);
    const question: Packet = { flags: UPDATE, questions: [{ type: 'SOA', name: zone, class: 'IN' }], authorities: [change] };
    const { rcode } = await this.query(question, (message) => classify(message, recordClass));
    if (rcode !== 'NOERROR') throw this.failure(`it rejects updates of the zone ${zone} (${rcode}): ${this.advice(rcode)}`);
  }

  private advice(rcode: string | undefined): string {
    const { key } = this.tools;
    if (rcode !== 'REFUSED') return 'see its log';
    return key === null ? 'name a key with --acme-dns-key-file PATH' : `allow them for the key ${key.name}`;
  }

  /** The zone of a name: the closest ancestor with an SOA record. */
  private async zoneOf(name: string): Promise<string> {
    for (let at = name; at.includes('.'); at = at.slice(at.indexOf('.') + 1)) {
      const { answers = [] } = await this.query({ questions: [{ type: 'SOA', name: at, class: 'IN' }] });
      if (answers.some((answer) => answer.type === 'SOA' && answer.name.toLowerCase() === at)) return at;
    }
    throw this.failure(`it has no zone for ${name}`);
  }

  private async query(question: Packet, finish: (message: Buffer) => Buffer = (message) => message): Promise<Reply> {
    const { server, key, clock, random } = this.tools;
    const id = random.bytes(2).readUInt16BE(0);
    const message = finish(encode({ ...question, type: 'query', id }));
    const seconds = Math.floor(clock.now() / 1_000);
    const signed = key === null ? null : sign(message, key, seconds);
    try {
      const answer = await exchange(server, signed?.message ?? message, clock);
      const reply: Reply = decode(answer);
      if (reply.id !== id) throw new Error('its response does not match the query');
      if (key !== null && signed !== null) this.requireGood(verify(answer, key, signed.mac, seconds), key, reply);
      return reply;
    } catch (error) {
      if (error instanceof IssueError) throw error;
      throw this.failure(error instanceof Error ? error.message : String(error));
    }
  }

  private requireGood(verdict: SignatureVerdict, key: TsigKey, { rcode }: Reply): void {
    if (verdict === 'BADKEY') throw this.failure(`it does not know the key ${key.name} (${key.algorithm})`);
    if (verdict === 'BADSIG') throw this.failure(`its secret for the key ${key.name} is a different one`);
    if (verdict === 'BADTIME') throw this.failure('its clock and ours differ by more than 5 minutes');
    // A refusal need not be signed: forging one gains nothing.
    if (verdict !== 'good' && rcode === 'NOERROR') throw this.failure(`its answer is not signed with the key ${key.name}`);
  }

  private failure(reason: string): IssueError {
    const { host, port } = this.tools.server;
    return new IssueError('records', `the DNS server ${host}:${port} (--acme-dns-server): ${reason}`);
  }
}

/** Sets the class of the update record in place, since the library does not know class NONE. */
function classify(message: Buffer, recordClass: number): Buffer {
  const change = skipName(message, HEADER) + 4;
  message.writeUInt16BE(recordClass, skipName(message, change) + 2);
  return message;
}
