import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { targetKey } from '../../ledger/targets.ts';
import { eventually, ProxyFixture } from '../testing/proxy/test-proxy.ts';

const SAID = 'too much for me';
const PIECE = Buffer.alloc(65_536, 'sluice');
const TIMES = 12;
const SIZES = [100_000, 2_000_000, 20_000_000];

/**
 * An upstream that answers as soon as it has the head of a request, reads nothing more and closes. The kernel resets because of the unread
 * bytes.
 */
async function refusing(answer: string, leave: (socket: Socket) => void): Promise<{ readonly address: string } & Disposable> {
  const server = createServer((socket) => {
    let head = '';
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      head += bytes.toString('latin1', 0, 1_000);
      if (!head.includes('\r\n\r\n')) return;
      socket.pause();
      socket.write(`HTTP/1.1 413 Content Too Large\r\n${answer}`, () => leave(socket));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() };
}

const reset = (socket: Socket): void => void socket.destroy();
const endAndReset = (socket: Socket): void => void socket.end(() => setImmediate(() => socket.destroy()));

const TOLD = `Content-Length: ${SAID.length}\r\n`;
const ENDINGS: readonly (readonly [what: string, answer: string, leave: (socket: Socket) => void])[] = [
  ['resets', `${TOLD}\r\n${SAID}`, reset],
  ['sends Connection: close and resets', `Connection: close\r\n${TOLD}\r\n${SAID}`, reset],
  ['answers in a chunk and resets', `Transfer-Encoding: chunked\r\n\r\nf\r\n${SAID}\r\n0\r\n\r\n`, reset],
  ['sends Connection: close, half-closes, and resets when more arrives', `Connection: close\r\n${TOLD}\r\n${SAID}`, endAndReset],
  ['delimits its response by the close, and resets when more arrives', `Connection: close\r\n\r\n${SAID}`, endAndReset],
];

/** Uploads for as long as the proxy accepts it. @returns status and body of the response. */
type Upload = (port: number, size: number) => Promise<string>;

const overHttp1 =
  (chunked: boolean): Upload =>
  (port, size) =>
    new Promise((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' });
      let got = '';
      let sent = 0;
      const settle = (): void => {
        const [head = '', body = ''] = got.split('\r\n\r\n');
        const text = /\r\nTransfer-Encoding: chunked/.test(head) ? body.split('\r\n')[1] : body;
        resolve(`${head.slice(9, 12)} ${text}`);
        socket.destroy();
      };
      const pour = (): void => {
        while (sent < size && socket.writable) {
          sent += PIECE.length;
          const more = socket.write(chunked ? Buffer.concat([Buffer.from('10000\r\n'), PIECE, Buffer.from('\r\n')]) : PIECE);
          if (!more) return;
        }
      };
      socket.setEncoding('latin1').on('data', (text: string) => {
        got += text;
        if (got.includes(SAID)) settle();
      });
      socket.on('end', settle).on('error', settle).on('drain', pour);
      const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${Math.ceil(size / PIECE.length) * PIECE.length}`;
      socket.write(`POST / HTTP/1.1\r\nHost: a.test\r\n${framing}\r\n\r\n`);
      pour();
    });

const overHttp2: Upload = (port, size) =>
  new Promise((resolve) => {
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    const stream = session.request({ ':method': 'POST', ':path': '/', ':authority': 'a.test' });
    let got = '';
    let sent = 0;
    const pour = (): void => {
      while (sent < size && stream.writable) {
        sent += PIECE.length;
        if (!stream.write(PIECE)) return;
      }
    };
    for (const either of [session, stream]) either.on('error', () => session.destroy());
    stream.on('response', (fields) => {
      got = `${fields[':status']} `;
    });
    stream.setEncoding('latin1').on('data', (text: string) => {
      got += text;
    });
    stream.on('drain', pour).on('end', () => {
      resolve(got);
      session.destroy();
    });
    stream.on('close', () => resolve(got));
    pour();
  });

for (const [protocol, upload] of [
  ['with a length', overHttp1(false)],
  ['in chunks', overHttp1(true)],
  ['over HTTP/2', overHttp2],
] as const)
  for (const [what, answer, leave] of ENDINGS)
    test(`an upload ${protocol} receives the early response of an upstream that ${what}`, async () => {
      using target = await refusing(answer, leave);
      using proxy = await ProxyFixture.before(target);
      const heard: string[] = [];
      for (let time = 0; time < TIMES; time++) heard.push(await upload(proxy.port, SIZES[time % SIZES.length] as number));
      assert.deepEqual(
        heard,
        heard.map(() => `413 ${SAID}`),
      );
      const { targets, inFlight } = proxy.ledger;
      await eventually('nothing to be under way', () => inFlight.total() === 0);
      const slot = targets.find(targetKey(target.address, false));
      assert.deepEqual([targets.failures(slot), targets.inFlight(slot)], [0, 0]);
      assert.deepEqual(
        proxy.log.lines.filter(({ level }) => level === 'warn'),
        [],
      );
    });
