import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
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

type Kind = {
  readonly what: string;
  readonly secure: boolean;
  readonly count: number;
  /** KiB for each connection of ours. */
  readonly goal: number;
  /** A connection that has had a response. */
  open(port: number): Promise<{ destroy(): void }>;
};

const GET = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;
const KINDS: readonly Kind[] = [
  { what: 'plain', secure: false, count: 10_000, goal: 3, open: (port) => used(connect(port, '127.0.0.1')) },
  { what: 'TLS', secure: true, count: 2_000, goal: 20, open: (port) => used(connectTls(tlsOptions(port, 'http/1.1'))) },
  { what: 'HTTP/2', secure: true, count: 2_000, goal: 24, open: usedHttp2 },
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
  const connections: { destroy(): void }[] = [];
  const keep = async (number: number): Promise<void> => {
    for (let opened = 0; opened < number; opened++) connections.push(await open(proxy.port));
  };
  const memory = (): Promise<number> => settled(() => proportionalOf(proxy.pids()));
  await keep(WARM);
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

async function used(socket: Socket): Promise<Socket> {
  socket.write(GET);
  await once(socket, 'data');
  socket.pause();
  return socket;
}

async function usedHttp2(port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://${HOST}`, { createConnection: () => connectTls(tlsOptions(port, 'h2')) });
  const request = session.request({ ':path': '/' });
  const ended = once(request, 'end');
  request.resume().end();
  await ended;
  return session;
}
