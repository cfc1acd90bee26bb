import type { AcceptedSocket } from '../io/accepted-socket.ts';
import { type NamedDescriptor, PassedSockets } from '../io/passed-sockets.ts';
import type { TrafficSettings } from '../protocol.ts';
import { acceptWaiting } from './arrivals.ts';
import { Port } from './port.ts';

/** The listening sockets of one kind: with TLS, or without. */
export class Ports {
  private readonly create: () => Port;
  private open: readonly Port[] = [];
  private accepted = 0;

  /** See `Port`; `accept` also gets the port that the connection arrived at. */
  constructor(allowHalfOpen: boolean, accept: (socket: AcceptedSocket, port: number) => void, failed: (error: Error) => void) {
    const counted = (socket: AcceptedSocket, port: number): void => {
      this.accepted++;
      accept(socket, port);
    };
    this.create = () => new Port(allowHalfOpen, counted, failed);
  }

  /** The first one; 0 while it is closed. If 0 was requested, the system has chosen it. */
  get main(): number {
    return this.numbers[0] ?? 0;
  }

  /** Those that are open, in the order requested. */
  get numbers(): readonly number[] {
    return this.open.map((port) => port.number).filter((number) => number !== 0);
  }

  /** Their sockets, for a successor. */
  get descriptors(): readonly NamedDescriptor[] {
    return this.open.flatMap((port) => port.descriptor ?? []);
  }

  /**
   * Listens on these ports and no others; see `Port.listen`. Ports that are already open stay open, new ones are opened before old ones are
   * closed. `passed`: the sockets of the predecessor. @throws the system's error, with the port's number; all that was open then stays, and nothing else.
   */
  async listen(bind: string | null, numbers: readonly number[], passed = PassedSockets.none): Promise<void> {
    const before = [...this.open];
    const next: Port[] = [];
    const fresh: Port[] = [];
    try {
      for (const number of numbers) {
        const at = before.findIndex((port) => port.isAt(bind, number));
        const known = at < 0 ? undefined : before.splice(at, 1)[0];
        const port = known ?? this.create();
        if (known === undefined) {
          fresh.push(port);
          await port.listen(bind, number, passed).catch((error: Error) => {
            throw Object.assign(error, { port: number });
          });
        }
        next.push(port);
      }
    } catch (error) {
      for (const port of fresh) port.close();
      throw error;
    }
    this.open = next;
    if (before.length === 0) return;
    await this.acceptWaiting();
    for (const port of before) port.close();
  }

  /** Accepts what waits. Resolves when nothing does. */
  acceptWaiting(): Promise<void> {
    return acceptWaiting(() => this.accepted);
  }

  /** Stops accepting connections. */
  close(): void {
    for (const port of this.open) port.close();
  }
}

/** All ports that are to be open, the main ones first; none for TLS while nothing needs it. */
export const portsOf = ({ httpPort, otherHttpPorts, httpsPort, otherHttpsPorts, closedPorts }: TrafficSettings) => ({
  http: [httpPort, ...otherHttpPorts].filter((port) => !closedPorts.includes(port)),
  https: httpsPort === null ? [] : [httpsPort, ...otherHttpsPorts].filter((port) => !closedPorts.includes(port)),
});
