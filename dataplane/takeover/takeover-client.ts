import { connect, type Socket } from 'node:net';
import type { Clock } from '../../shared/runtime/clock.ts';
import { inaccessible, isDenied } from '../../shared/runtime/http/unix-socket.ts';
import { networkNamespace } from '../../shared/runtime/process/namespaces.ts';
import { type Released, STEP_MS } from '../../shared/wire/takeover.ts';
import { Channel, ChannelError } from './channel.ts';

/**
 * The successor's side of a takeover. If this process exits before `done`, the predecessor takes everything back.
 * A predecessor that dies in the meantime has released everything, too.
 */
export class TakeoverClient {
  private readonly channel: Channel;
  private readonly path: string;
  private readonly clock: Clock;
  private listenersOffered = false;
  private openPorts: readonly number[] | null = null;

  private constructor(channel: Channel, path: string, clock: Clock) {
    this.channel = channel;
    this.path = path;
    this.clock = clock;
  }

  /**
   * Makes the process behind the socket release the table.
   * @returns null if no process is listening. @throws ChannelError if it refuses or does not answer.
   */
  static async start(
    path: string,
    introduction: { readonly version: string; readonly pid: number },
    clock: Clock,
  ): Promise<TakeoverClient | null> {
    const socket = await connectIfListening(path);
    if (socket === null) return null;
    const channel = new Channel(socket, clock);
    const successor = new TakeoverClient(channel, path, clock);
    channel.send('takeover', introduction);
    const released = await successor.expectStep('released');
    if (released === null) return null;
    const { listeners = null, network = null, ports = null } = released as Released;
    const here = networkNamespace();
    // In another network, such as that of another pod with the same volume, nobody reaches those sockets.
    successor.listenersOffered = listeners !== null && listeners === here;
    successor.openPorts = ports !== null && network !== here ? [] : ports;
    return successor;
  }

  /** Whether the predecessor passes its listening sockets to our workers. */
  get offersListeners(): boolean {
    return this.listenersOffered;
  }

  /** The ports of our network that the predecessor listens on; null if it does not say. */
  get ports(): readonly number[] | null {
    return this.openPorts;
  }

  /**
   * Reports that our workers serve beside the predecessor's, which now closes its Admin API. @throws ChannelError if it continues instead.
   */
  async serving(): Promise<void> {
    this.channel.send('serving', {});
    await this.expectStep('admin');
  }

  /** Reports completion. Resolves when the predecessor has released its socket too. @throws ChannelError if it continues instead. */
  async done(): Promise<void> {
    this.channel.send('done', {});
    await this.expectStep('left');
    this.channel.destroy();
  }

  /** Gives up: the predecessor takes everything back. */
  abandon(): void {
    this.channel.destroy();
  }

  /** @returns null if the predecessor has died. @throws ChannelError if it is alive and keeps, or takes back, its state. */
  private async expectStep(expected: string): Promise<object | null> {
    try {
      return Object(await this.channel.expect(expected, STEP_MS));
    } catch (error) {
      this.channel.destroy();
      if (!(error instanceof ChannelError) || (await this.isPredecessorAlive())) throw error;
      return null;
    }
  }

  /** A process being killed may still accept a connection but then closes it; a slow one keeps it open. */
  private async isPredecessorAlive(): Promise<boolean> {
    const socket = await connectIfListening(this.path);
    if (socket === null) return false;
    const channel = new Channel(socket, this.clock);
    channel.send('describe', {});
    const answered = await channel.next(STEP_MS).catch(() => null);
    const lives = answered !== null || !channel.closed;
    channel.destroy();
    return lives;
  }
}

/** null if there is no socket, or it is stale. */
function connectIfListening(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null);
      else
        reject(
          isDenied(error)
            ? new ChannelError(`${inaccessible(path)}; run as the user who runs the other process, or remove the socket if there is none`)
            : error,
        );
    });
  });
}
