import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { FLAG, FRAME, Frames } from './frames.ts';

/** How a target responds to a request that has ended. */
type Answer = (target: Frames, stream: number) => void;

const endsRequest = ({ type, flags }: { readonly type: number; readonly flags: number }): boolean =>
  (type === FRAME.headers || type === FRAME.data) && (flags & FLAG.endStream) > 0;

/** Test support: a target that speaks HTTP/2 without TLS, whose every frame the test decides. */
export class FrameTargetFixture {
  /** `127.0.0.1:port`. */
  readonly address: string;
  readonly connections: Frames[] = [];
  private readonly server: Server;

  private constructor(server: Server, port: number) {
    this.server = server;
    this.address = `127.0.0.1:${port}`;
  }

  /** Sends SETTINGS, as numbers and values, on each connection, and calls `answer` once for each request that has ended. */
  static async serving(answer: Answer, ...settings: readonly (readonly [number, number])[]): Promise<FrameTargetFixture> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const fixture = new FrameTargetFixture(server, (server.address() as AddressInfo).port);
    server.on('connection', (socket) => {
      const target = Frames.accepted(socket);
      fixture.connections.push(target);
      target.settings(...settings);
      let seen = 0;
      socket.on('data', () => {
        for (; seen < target.received.length; seen++) {
          const one = target.received[seen];
          if (one !== undefined && endsRequest(one)) answer(target, one.stream);
        }
      });
    });
    return fixture;
  }

  /** Refuses further connections. */
  refuse(): void {
    this.server.close();
  }

  [Symbol.dispose](): void {
    this.server.close();
    for (const connection of this.connections) connection[Symbol.dispose]();
  }
}
