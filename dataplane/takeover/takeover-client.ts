import { connect, type Socket } from 'node:net';
import type { Clock } from '../../shared/runtime/clock.ts';
import { STEP_MS } from '../../shared/wire/takeover.ts';
import { Channel, ChannelError } from './channel.ts';

/**
 * The side of a takeover that takes over. Until `done` the other process takes everything back when this one goes away.
 * One that dies meanwhile has let go of everything, too.
 */
export class TakeoverClient {
  private readonly channel: Channel;
  private readonly path: string;
  private readonly clock: Clock;

  private constructor(channel: Channel, path: string, clock: Clock) {
    this.channel = channel;
    this.path = path;
    this.clock = clock;
  }

  /**
   * Has the process behind the socket let go of the table.
   * @returns null when nobody is there. @throws ChannelError when it refuses or does not answer.
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
    return (await successor.expectStep('released')) ? successor : null;
  }

  /** The workers serve beside those of the other process, which now closes its Admin API. @throws ChannelError when it goes on instead. */
  async serving(): Promise<void> {
    this.channel.send('serving', {});
    await this.expectStep('admin');
  }

  /** Everything is here. Resolves when the other process has let go of its socket too. @throws ChannelError when it goes on instead. */
  async done(): Promise<void> {
    this.channel.send('done', {});
    await this.expectStep('left');
    this.channel.destroy();
  }

  /** @returns false when the other process has died. @throws ChannelError when it lives, and keeps or takes back what it has. */
  private async expectStep(expected: string): Promise<boolean> {
    try {
      await this.channel.expect(expected, STEP_MS);
      return true;
    } catch (error) {
      this.channel.destroy();
      if (!(error instanceof ChannelError) || (await this.isPredecessorAlive())) throw error;
      return false;
    }
  }

  /** One that is being killed may still take a connection, and closes it; one that is merely slow does not. */
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

/** What a dead process left, or nothing at all, is nobody. */
function connectIfListening(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null);
      else reject(error);
    });
  });
}
