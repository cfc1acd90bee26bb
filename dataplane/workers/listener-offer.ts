import { createServer } from 'node:net';
import { listenUnix } from '../../shared/runtime/http/unix-socket.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { passSockets } from '../traffic/io/passed-sockets.ts';
import type { ListeningSocket } from '../traffic/protocol.ts';

/**
 * Passes the listening sockets of workers to their successors: each that connects to a Unix socket gets those of one worker. Then the kernel
 * resets none of the connections in their queues when the workers close them.
 */
export class ListenerOffer {
  readonly path: string;
  private readonly server = createServer({ pauseOnConnect: true });

  private constructor(path: string, sets: readonly (readonly ListeningSocket[])[]) {
    this.path = path;
    const left = [...sets];
    this.server.on('connection', (connection) => passSockets(connection, left.shift() ?? []));
  }

  /** Only the user that runs this process may connect. @returns null, with a line in the log, if the socket can't be opened. */
  static async open(path: string, sets: readonly (readonly ListeningSocket[])[], log: Log): Promise<ListenerOffer | null> {
    const offer = new ListenerOffer(path, sets);
    try {
      await listenUnix(offer.server, path);
      return offer;
    } catch (error) {
      log.warn({ path, error: String(error) }, 'listening sockets cannot be handed over: some new connections may be reset');
      return null;
    }
  }

  /** The path is free again when this returns. */
  close(): void {
    this.server.close();
  }
}
