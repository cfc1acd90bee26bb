import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { Folder } from '../../testing/dataplane.ts';
import { HOST } from '../contenders/contender.ts';
import { atMost, type Figure } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';
import { residentOf } from '../processes.ts';
import { settled } from '../settled.ts';

const STALLED = 8;
const DOWNLOAD_BYTES = 2 ** 30;
const PIECE = Buffer.alloc(65_536);

/** The memory of a download whose reader has stopped. */
export async function connections(): Promise<Figure[]> {
  using folder = new Folder();
  const server = await upstream();
  const { port } = server.address() as AddressInfo;
  const open: Socket[] = [];
  await using dataplane = await ownDataplane({ stateDir: folder.file('state') });
  await dataplane.route(HOST, `127.0.0.1:${port}`);
  const resident = () => settled(() => residentOf([dataplane.program.pid]));
  try {
    // The first one is opened before, so that one-time costs are not counted.
    await keep(open, dataplane.httpPort, 1, '/download');
    const unstalled = await resident();
    await keep(open, dataplane.httpPort, STALLED, '/download');
    const stalled = (await resident()) - unstalled;
    return [atMost(`each of ${STALLED} stalled downloads of 1 GB`, stalled / STALLED / 1_048_576, 'MiB', 2)];
  } finally {
    for (const socket of open) socket.destroy();
    server.closeAllConnections();
    server.close();
  }
}

async function upstream(): Promise<Server> {
  const server = createServer(({ url }, response) => {
    if (url !== '/download') return response.end('ok');
    response.setHeader('Content-Length', DOWNLOAD_BYTES);
    // These are not read to their end.
    return pipeline(Readable.from(pieces()), response, () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

function* pieces(): Generator<Buffer> {
  for (let sent = 0; sent < DOWNLOAD_BYTES; sent += PIECE.length) yield PIECE;
}

/** Opens `count` more connections that each send one request and read only the start of the response. */
async function keep(open: Socket[], port: number, count: number, path: string): Promise<void> {
  for (let index = 0; index < count; index++) {
    const socket = connect(port, '127.0.0.1');
    open.push(socket);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    await once(socket, 'data');
    socket.pause();
  }
}
