import type { Socket } from 'node:net';
import type { Passthrough } from '../route/compiled-route.ts';

const IPV4_IN_IPV6 = /^::ffff:(?=.*\.)/;
const endOf = (address = '', port = 0): string => `${address.replace(IPV4_IN_IPV6, '')} ${port}`;

/**
 * The connections to targets of one worker, by our end of them. One that arrives from such an end has come back, and is not passed on a
 * second time by the same entry of a route: nothing else would end the loop before all permitted connections are open.
 */
export class OwnConnections {
  /** Each with the entries that have passed it on. */
  private readonly passedBy = new Map<string, readonly Passthrough[]>();

  /** The entries that have passed on what now arrives here; none if another program has sent it. */
  passed(arrived: Socket): readonly Passthrough[] {
    return this.passedBy.get(endOf(arrived.remoteAddress, arrived.remotePort)) ?? [];
  }

  opened(upstream: Socket, by: readonly Passthrough[]): void {
    const end = endOf(upstream.localAddress, upstream.localPort);
    this.passedBy.set(end, by);
    upstream.once('close', () => {
      // Another connection may have the same end already.
      if (this.passedBy.get(end) === by) this.passedBy.delete(end);
    });
  }
}
