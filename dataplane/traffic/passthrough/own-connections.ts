import type { Socket } from 'node:net';

const IPV4_IN_IPV6 = /^::ffff:(?=.*\.)/;
const endOf = (address = '', port = 0): string => `${address.replace(IPV4_IN_IPV6, '')} ${port}`;

/** Where a ClientHello has its random value, which no other has (RFC 8446 4.1.2): behind two headers and the version. */
const RANDOM = [11, 43] as const;

/** A connection to a target: the entries that have passed it on, and the random value of its ClientHello. */
type OwnConnection<Entry> = { readonly by: readonly Entry[]; readonly random: Buffer };

/**
 * The connections to targets of one worker, by our end of them. One that arrives from such an end has come back, and is not passed on a
 * second time by the same entry of a route: nothing else would end the loop before all permitted connections are open. Its ClientHello tells
 * it from those of others: a system gives several connections the same end if they lead to different places.
 */
export class OwnConnections<Entry> {
  private readonly byEnd = new Map<string, OwnConnection<Entry>>();

  /** The entries that have passed on what now arrives here, with the bytes read so far; none if another program has sent it. */
  passed(arrived: Socket, head: Buffer): readonly Entry[] {
    const own = this.byEnd.get(endOf(arrived.remoteAddress, arrived.remotePort));
    return own?.random.equals(head.subarray(...RANDOM)) ? own.by : [];
  }

  opened(upstream: Socket, head: Buffer, by: readonly Entry[]): void {
    const end = endOf(upstream.localAddress, upstream.localPort);
    const own = { by, random: Buffer.from(head.subarray(...RANDOM)) };
    this.byEnd.set(end, own);
    upstream.once('close', () => {
      // Another connection may have the same end already.
      if (this.byEnd.get(end) === own) this.byEnd.delete(end);
    });
  }
}
