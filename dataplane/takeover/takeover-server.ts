import { createServer, type Server } from 'node:net';
import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import { listenUnix } from '../../shared/runtime/http/unix-socket.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { networkNamespace } from '../../shared/runtime/process/namespaces.ts';
import {
  type InstanceDescription,
  type Released,
  STEP_MS,
  SUCCESSOR_START_MS,
  type Upgraded,
  type UpgradeRequest,
  type VersionOf,
} from '../../shared/wire/takeover.ts';
import { Channel } from './channel.ts';

/** How often reopening the Admin API is retried while its address is in use (ms). */
const RETRY_MS = 1_000;

/** The steps by which a running data plane hands over to its successor, or takes everything back if that fails. */
export type HandoverSteps = {
  describe(): InstanceDescription;
  /** Starts a successor. @throws with the reason if it did not take over. */
  upgrade(launcher: string): Promise<Upgraded>;
  /** Stops saving and releases the table on disk. Pending changes stay queued. */
  release(): Promise<void>;
  reclaim(): void;
  /** Offers the listening sockets to the successor until it is closed; null if that fails. */
  offerListeners(): Promise<{ close(): void } | null>;
  /** The ports that this process listens on. */
  ports(): readonly number[];
  closeAdmin(): Promise<void>;
  openAdmin(): Promise<void>;
  /** The successor serves: drain and exit. */
  leave(successor: VersionOf): void;
};

/** The predecessor's side of a takeover: listens on a socket for as long as the process serves. */
export class TakeoverServer {
  private readonly server: Server;
  private readonly steps: HandoverSteps;
  private readonly clock: Clock;
  private readonly log: Log;
  private successor: Channel | null = null;
  /** Pending until the client that requested an upgrade has its answer. */
  private upgrading: Promise<void> | null = null;

  constructor(steps: HandoverSteps, clock: Clock, log: Log) {
    this.steps = steps;
    this.clock = clock;
    this.log = log;
    this.server = createServer((socket) => void this.serve(new Channel(socket, clock)));
  }

  /** The socket has mode 0600: only the user that runs the process may take over. @throws UnusableSocketError or the system's error. */
  listen(path: string): Promise<void> {
    return listenUnix(this.server, path);
  }

  /** The path is free again when this resolves. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.server.close(() => resolve());
      // Clients that requested a description have it by now.
      this.successor?.destroy();
    });
  }

  private async serve(channel: Channel): Promise<void> {
    try {
      const { name, value } = await channel.next(STEP_MS);
      if (name === 'describe') channel.send('description', this.steps.describe());
      else if (name === 'upgrade' && this.upgrading === null) return await this.upgrade(channel, value);
      // The parent reports outcomes without saying whose: asked again, it would refuse, and end the first request with that.
      else if (name === 'upgrade') channel.send('refused', { reason: 'another upgrade is under way' });
      else if (name !== 'takeover') channel.send('refused', { reason: `unknown message "${name}"` });
      else if (this.successor !== null) channel.send('refused', { reason: 'another process is taking over right now' });
      else return await this.handOver(channel, value);
      await channel.end();
    } catch (error) {
      this.log.debug({ error: String(error) }, 'a takeover connection failed');
      channel.destroy();
    }
  }

  /** Resolves once the client that requested an upgrade has its answer, or after a timeout: then this process may exit. */
  whenAnswered(): Promise<void> {
    return Promise.race([this.upgrading ?? Promise.resolve(), sleep(this.clock, STEP_MS)]);
  }

  private upgrade(channel: Channel, value: unknown): Promise<void> {
    this.upgrading = this.steps
      .upgrade((value as Partial<UpgradeRequest>).launcher ?? '')
      .then(
        (upgraded) => channel.send('upgraded', upgraded),
        (error: unknown) => channel.send('refused', { reason: error instanceof Error ? error.message : String(error) }),
      )
      .then(() => channel.end())
      .finally(() => {
        this.upgrading = null;
      });
    return this.upgrading;
  }

  private async handOver(channel: Channel, value: unknown): Promise<void> {
    this.successor = channel;
    this.log.info({ successor: value }, 'another process takes over');
    let adminClosed = false;
    try {
      await this.steps.release();
      await this.passListeners(channel);
      adminClosed = true;
      await this.steps.closeAdmin();
      channel.send('admin', {});
      await channel.expect('done', STEP_MS);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // A successor that is still there reports it.
      channel.send('refused', { reason });
      void channel.end().then(() => channel.destroy());
      this.steps.reclaim();
      if (adminClosed) await this.reopenAdmin();
      this.successor = null;
      this.log.error({ reason }, 'the takeover failed: this process continues');
      return;
    }
    // Closing unlinks the socket, so its path is free from here on.
    this.server.close();
    channel.send('left', {});
    await channel.end();
    this.log.info('the successor serves: this process drains and exits');
    this.steps.leave(introduced(value));
  }

  private async passListeners(channel: Channel): Promise<void> {
    const offer = await this.steps.offerListeners();
    try {
      const network = networkNamespace();
      channel.send('released', { listeners: offer && network, network, ports: this.steps.ports() } satisfies Released);
      await channel.expect('serving', SUCCESSOR_START_MS);
    } finally {
      offer?.close();
    }
  }

  /** A hanging successor may still hold the address until it exits. */
  private async reopenAdmin(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.steps.openAdmin();
      } catch (error) {
        if (attempt === 1) this.log.error({ error: String(error) }, 'the Admin API cannot be reopened yet; traffic is still served');
        await sleep(this.clock, RETRY_MS);
      }
    }
  }
}

/** What a successor says about itself; a pid of 0 if it does not say. */
function introduced(value: unknown): VersionOf {
  const { version, pid } = Object(value) as { readonly version?: unknown; readonly pid?: unknown };
  return { version: String(version), pid: typeof pid === 'number' ? pid : 0 };
}
