import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Folder } from '../../testing/dataplane.ts';
import { type Contender, HOST } from '../contenders/contender.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { roomySluice } from '../contenders/sluice.ts';
import { withCompetitors } from '../contest/competitors.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { atMost, type Figure, shown } from '../figure.ts';
import { proportionalOf } from '../processes.ts';
import { settled } from '../settled.ts';

/** Opened before the first reading, so that one-time costs are not counted. */
const WARM = 1_000;
/** Requests on each of these. After 3,000 calls of a function, V8 has used both of its optimizing compilers, whose code takes 15 MB. */
const WARM_REQUESTS = 6;

type Kind = {
  readonly what: string;
  readonly secure: boolean;
  readonly count: number;
  /** KiB for each connection of ours. */
  readonly goal: number;
  open(port: number): Connection;
};

type Connection = {
  /** Sends a request and waits for its response. */
  ask(): Promise<void>;
  destroy(): void;
};

const GET = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;
const KINDS: readonly Kind[] = [
  { what: 'plain', secure: false, count: 10_000, goal: 3, open: (port) => overHttp1(connect(port, '127.0.0.1')) },
  { what: 'TLS', secure: true, count: 2_000, goal: 20, open: (port) => overHttp1(connectTls(tlsOptions(port, 'http/1.1'))) },
  { what: 'HTTP/2', secure: true, count: 2_000, goal: 24, open: overHttp2 },
];

/** The memory that a proxy needs for each idle connection. */
export async function idle(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  try {
    const figures: Figure[] = [];
    for (const kind of KINDS) {
      const setup = { cores: [PROXY_CORE], upstream: upstream.port, secure: kind.secure, ours: roomySluice };
      await withCompetitors(setup, async (competitors) => {
        for (const { proxy } of competitors) figures.push(await measured(proxy, kind));
      });
    }
    return figures;
  } finally {
    await upstream.stop();
  }
}

async function measured(proxy: Contender, { what, count, goal, open }: Kind): Promise<Figure> {
  const connections: Connection[] = [];
  const keep = async (number: number): Promise<void> => {
    for (let opened = 0; opened < number; opened++) {
      const connection = open(proxy.port);
      connections.push(connection);
      await connection.ask();
    }
  };
  const memory = (): Promise<number> => settled(() => proportionalOf(proxy.pids()));
  await keep(WARM);
  for (let times = 1; times < WARM_REQUESTS; times++) for (const connection of connections) await connection.ask();
  const before = await memory();
  await keep(count);
  const each = ((await memory()) - before) / count / 1_024;
  for (const connection of connections) connection.destroy();
  const title = `each of ${count.toLocaleString('en')} idle connections, ${what}: ${proxy.name}`;
  return proxy.name === 'sluice' ? atMost(title, each, 'KiB', goal) : shown(title, each, 'KiB');
}

const tlsOptions = (port: number, protocol: string) => ({
  host: '127.0.0.1',
  port,
  servername: HOST,
  ALPNProtocols: [protocol],
  rejectUnauthorized: false,
});

function overHttp1(socket: Socket): Connection {
  return {
    ask: async () => {
      socket.write(GET);
      await once(socket, 'data');
    },
    destroy: () => socket.destroy(),
  };
}

function overHttp2(port: number): Connection {
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => connectTls(tlsOptions(port, 'h2')) });
  return {
    ask: async () => {
      const request = session.request({ ':path': '/' });
      const ended = once(request, 'end');
      request.resume().end();
      await ended;
    },
    destroy: () => session.destroy(),
  };
}
