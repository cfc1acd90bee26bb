import { type Answer, decode, encode, type Packet } from 'dns-packet';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { IssueError } from '../failure.ts';
import { type DnsServer, exchange } from './dns-exchange.ts';
import type { DnsRecords } from './records.ts';
import { sign, type TsigKey, type Verdict, verify } from './tsig.ts';

/** RFC 2136 1.3, in its place in the head (RFC 1035 4.1.1). */
const UPDATE = 5 << 11;
/** Long enough for a check, short enough that nobody remembers it for long (s). */
const TTL = 60;

export type DynamicUpdateTools = {
  readonly server: DnsServer;
  /** null: the server lets our address change the zone. */
  readonly key: TsigKey | null;
  readonly clock: Clock;
  readonly random: Random;
};

type Reply = Packet & { readonly rcode?: string };

/** Sets records of a zone at the server that keeps it (RFC 2136), over TCP, signed (RFC 8945). */
export class DynamicUpdate implements DnsRecords {
  private readonly tools: DynamicUpdateTools;

  constructor(tools: DynamicUpdateTools) {
    this.tools = tools;
  }

  add(name: string, value: string): Promise<void> {
    return this.update(name, { type: 'TXT', name, class: 'IN', ttl: TTL, data: value });
  }

  /** RFC 2136 2.5.4: class NONE takes this one record out of its set. */
  remove(name: string, value: string): Promise<void> {
    return this.update(name, { type: 'TXT', name, class: 'NONE' as 'IN', ttl: 0, data: value });
  }

  private async update(name: string, change: Answer): Promise<void> {
    const zone = await this.zoneOf(name);
    const { rcode } = await this.ask({ flags: UPDATE, questions: [{ type: 'SOA', name: zone, class: 'IN' }], authorities: [change] });
    if (rcode !== 'NOERROR') throw this.failure(`it does not take changes of the zone ${zone} (${rcode}): ${this.advice(rcode)}`);
  }

  private advice(rcode: string | undefined): string {
    const { key } = this.tools;
    if (rcode !== 'REFUSED') return 'look into its log';
    return key === null ? 'name a key with --acme-dns-key-file PATH' : `allow them for the key ${key.name}`;
  }

  /** The zone that the server keeps this name in: the first name upwards that has a start of authority. */
  private async zoneOf(name: string): Promise<string> {
    for (let at = name; at.includes('.'); at = at.slice(at.indexOf('.') + 1)) {
      const { answers = [] } = await this.ask({ questions: [{ type: 'SOA', name: at, class: 'IN' }] });
      if (answers.some((answer) => answer.type === 'SOA' && answer.name.toLowerCase() === at)) return at;
    }
    throw this.failure(`it keeps no zone for ${name}`);
  }

  private async ask(question: Packet): Promise<Reply> {
    const { server, key, clock, random } = this.tools;
    const id = random.bytes(2).readUInt16BE(0);
    const message = encode({ ...question, type: 'query', id });
    const seconds = Math.floor(clock.now() / 1_000);
    const signed = key === null ? null : sign(message, key, seconds);
    try {
      const answer = await exchange(server, signed?.message ?? message, clock);
      const reply: Reply = decode(answer);
      if (reply.id !== id) throw new Error('it answers another question');
      if (key !== null && signed !== null) this.trust(verify(answer, key, signed.mac, seconds), key, reply);
      return reply;
    } catch (error) {
      if (error instanceof IssueError) throw error;
      throw this.failure(error instanceof Error ? error.message : String(error));
    }
  }

  private trust(verdict: Verdict, key: TsigKey, { rcode }: Reply): void {
    if (verdict === 'BADKEY') throw this.failure(`it does not know the key ${key.name} (${key.algorithm})`);
    if (verdict === 'BADSIG') throw this.failure(`the secret of the key ${key.name} is another there`);
    if (verdict === 'BADTIME') throw this.failure('its clock and ours differ by more than 5 minutes');
    // A refusal need not be signed: nobody gains by forging one.
    if (verdict !== 'good' && rcode === 'NOERROR') throw this.failure(`its answer is not signed with the key ${key.name}`);
  }

  private failure(reason: string): IssueError {
    const { host, port } = this.tools.server;
    return new IssueError('records', `the DNS server ${host}:${port} (--acme-dns-server): ${reason}`);
  }
}
