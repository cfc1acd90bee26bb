import { connect, type Socket } from 'node:net';
import type { Clock } from '../../shared/runtime/clock.ts';
import { STEP_MS } from '../../shared/wire/takeover.ts';
import { Channel } from './channel.ts';

/** The side of a takeover that takes over. Until `done` the other process takes everything back when this one goes away. */
export class Successor {
  private readonly channel: Channel;

  private constructor(channel: Channel) {
    this.channel = channel;
  }

  /**
   * Has the process behind the socket let go of the table.
   * @returns null when nobody is there. @throws ChannelError when it refuses or does not answer.
   */
  static async of(path: string, introduction: { readonly version: string; readonly pid: number }, clock: Clock): Promise<Successor | null> {
    const socket = await reach(path);
    if (socket === null) return null;
    const channel = new Channel(socket, clock);
    channel.send('takeover', introduction);
    await channel.expect('released', STEP_MS);
    return new Successor(channel);
  }

  /** The workers serve beside those of the other process, which now closes its Admin API. */
  async serving(): Promise<void> {
    this.channel.send('serving', {});
    await this.channel.expect('admin', STEP_MS);
  }

  /** Everything is here. Resolves when the other process has let go of its socket too. */
  async done(): Promise<void> {
    this.channel.send('done', {});
    await this.channel.expect('left', STEP_MS);
    this.channel.destroy();
  }
}

/** What a dead process left, or nothing at all, is nobody. */
function reach(path: string): Promise<Socket | null> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(null);
      else reject(error);
    });
  });
}
