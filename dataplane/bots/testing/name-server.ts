import { createSocket, type Socket } from 'node:dgram';

const TYPES = { 1: 'A', 12: 'PTR', 28: 'AAAA' } as const;
/** Addresses or names by type and name, such as `PTR 1.2.0.192.in-addr.arpa`; a name that is missing does not exist. */
export type Records = Readonly<Record<string, readonly string[] | 'silence' | 'failure'>>;

const nameBytes = (name: string): Buffer =>
  Buffer.concat([...name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])), Buffer.of(0)]);
/** The bytes of an IPv6 address. */
export const groupsOf = (address: string): Buffer => {
  const [left = '', right = ''] = address.split('::');
  const [head, tail] = [left.split(':').filter(Boolean), right.split(':').filter(Boolean)];
  const groups = [...head, ...new Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
};

/** A name server on loopback, which answers by these records. They may change while it runs. */
export class NameServer {
  /** Host and port. */
  readonly address: string;
  /** The questions so far, as the keys of records. */
  readonly asked: string[] = [];
  private readonly socket: Socket;
  private isOpen = true;

  private constructor(socket: Socket, records: Records) {
    this.address = `127.0.0.1:${socket.address().port}`;
    this.socket = socket.on('message', (question, from) => {
      const reply = this.replyTo(question, records);
      if (reply !== null) socket.send(reply, from.port, from.address);
    });
  }

  static async start(records: Records): Promise<NameServer> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return new NameServer(socket, records);
  }

  private replyTo(question: Buffer, records: Records): Buffer | null {
    let at = 12;
    const labels: string[] = [];
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = TYPES[question.readUInt16BE(at + 1) as keyof typeof TYPES];
    const key = `${type} ${labels.join('.')}`;
    this.asked.push(key);
    const found = records[key];
    if (found === 'silence') return null;
    const list = found === 'failure' ? [] : (found ?? []);
    const head = Buffer.from(question.subarray(0, at + 5));
    head.writeUInt16BE(found === undefined ? 0x8183 : found === 'failure' ? 0x8182 : 0x8180, 2);
    head.writeUInt16BE(list.length, 6);
    head.writeUInt32BE(0, 8);
    const answers = list.map((value) => {
      const data = type === 'PTR' ? nameBytes(value) : type === 'A' ? Buffer.from(value.split('.').map(Number)) : groupsOf(value);
      const fixed = Buffer.alloc(12);
      fixed.writeUInt16BE(0xc00c, 0);
      fixed.writeUInt16BE(question.readUInt16BE(at + 1), 2);
      fixed.writeUInt16BE(1, 4);
      fixed.writeUInt32BE(60, 6);
      fixed.writeUInt16BE(data.length, 10);
      return Buffer.concat([fixed, data]);
    });
    return Buffer.concat([head, ...answers]);
  }

  [Symbol.dispose](): void {
    if (this.isOpen) this.socket.close();
    this.isOpen = false;
  }
}
