import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually } from '../testing/proxy/test-proxy.ts';
import { AcceptedSocket } from './accepted-socket.ts';
import { AcceptedTls } from './accepted-tls.ts';
import { acceptHandles, type TcpHandle, tlsOver } from './node-handle.ts';
import { ServerTls } from './server-tls.ts';
import { EventsReader, RECORDS } from './testing/events-reader.ts';

const LARGE = 'L'.repeat(8_000_000);
const secure = createTlsServer(new CertificatesFixture().issue('a.test'));

/** Completes the TLS handshake of a connection. */
function secured(handle: TcpHandle): Promise<AcceptedSocket> {
  const tls = tlsOver(handle, secure, Buffer.alloc(0));
  assert.ok(tls !== null);
  return new Promise((resolve, reject) => {
    const failed = (reason: unknown): void => reject(new Error(String(reason)));
    new ServerTls(tls, {
      secured: (complete) => resolve(new AcceptedTls(complete)),
      failed,
      closed: () => failed('closed'),
      onFault: failed,
    }).begin(Buffer.alloc(0));
  });
}

/** Both ends of a connection. Ours is read. */
class Ends extends EventsReader {
  readonly client: Socket;
  /** Below TLS. */
  readonly raw: Socket;
  readonly accepted: AcceptedSocket;
  private readonly close: () => void;

  private constructor(client: Socket, raw: Socket, accepted: AcceptedSocket, close: () => void) {
    super();
    this.client = client;
    this.raw = raw;
    this.accepted = accepted;
    this.close = close;
    client.on('error', () => undefined);
  }

  static async open(kind: Kind): Promise<Ends> {
    const { promise, resolve } = Promise.withResolvers<AcceptedSocket>();
    const server = createServer({ allowHalfOpen: true }, (socket) => resolve(AcceptedSocket.ofStream(socket)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const accept = (handle: TcpHandle): void => resolve(kind === 'tls' ? secured(handle) : AcceptedSocket.ofHandle(handle, true));
    if (kind !== 'stream') assert.equal(acceptHandles(server, accept, assert.ifError), true);
    const options = { port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true };
    const raw = connect(options);
    const client = kind === 'tls' ? connectTls({ socket: raw, rejectUnauthorized: false }) : raw;
    client.allowHalfOpen = true;
    const [accepted] = await Promise.all([promise, once(client, kind === 'tls' ? 'secureConnect' : 'connect')]);
    return new Ends(client, raw, accepted, () => server.close());
  }

  /** All that the client gets. */
  async answered(): Promise<string> {
    const pieces: Buffer[] = [];
    this.client.on('data', (piece: Buffer) => pieces.push(piece));
    await once(this.client, 'end');
    return Buffer.concat(pieces).toString('latin1');
  }

  [Symbol.dispose](): void {
    this.client.destroy();
    this.accepted.destroy();
    this.close();
  }
}

type Kind = 'handle' | 'stream' | 'tls';
const KINDS: readonly { readonly name: string; readonly kind: Kind }[] = [
  { name: 'a connection without a stream', kind: 'handle' },
  { name: 'a TLS connection without a stream', kind: 'tls' },
  { name: 'a connection that has had a stream from the start', kind: 'stream' },
];

for (const { name, kind } of KINDS) {
  test(`${name}: its ends have the addresses that the client has`, async () => {
    using ends = await Ends.open(kind);
    const { client, accepted } = ends;
    assert.deepEqual(accepted.remote, { address: client.localAddress, port: client.localPort });
    assert.equal(accepted.localAddress, client.remoteAddress);
  });

  test(`${name}: it reads what arrives, and writes text, bytes, and both`, async () => {
    using ends = await Ends.open(kind);
    const { client, accepted } = ends;
    accepted.read(ends);
    client.write('a question');
    await ends.reads('a question');
    const before = accepted.bytesWritten;
    assert.deepEqual(
      [accepted.write('an '), accepted.writeBytes(Buffer.from('answer')), accepted.writeBoth(' in ', Buffer.from('parts'))],
      [true, true, true],
    );
    await eventually('that nothing waits', () => accepted.flushed);
    assert.deepEqual([accepted.bytesWritten - before, accepted.writableLength, accepted.writableNeedDrain], [18, 0, false]);
    accepted.destroySoon();
    assert.equal(await ends.answered(), 'an answer in parts');
    await ends.has('close');
    assert.deepEqual([ends.events, accepted.destroyed], [['close'], true]);
  });

  test(`${name}: nothing is passed on while it is paused, and all of it in order after that`, async () => {
    using ends = await Ends.open(kind);
    let pauses = 0;
    ends.onReceive = () => {
      ends.accepted.pause();
      pauses++;
      const { text } = ends;
      setImmediate(() => {
        assert.equal(ends.text, text);
        ends.accepted.resume();
      });
    };
    ends.accepted.read(ends);
    let sent = '';
    for (let nth = 0; sent.length < 1_000_000; nth++) sent += `${nth} `;
    ends.client.end(sent);
    await ends.reads(sent);
    assert.ok(pauses > 1);
    await ends.has('end');
    assert.deepEqual(ends.events, ['end']);
  });

  test(`${name}: after the end of what the client sends, answers are still written`, async () => {
    using ends = await Ends.open(kind);
    ends.accepted.read(ends);
    ends.client.end('last words');
    await ends.has('end');
    assert.deepEqual([ends.text, ends.accepted.destroyed], ['last words', false]);
    ends.accepted.write('an answer');
    ends.accepted.end(() => ends.events.push('written'));
    assert.equal(await ends.answered(), 'an answer');
    await ends.has('written');
    ends.accepted.destroy();
    await ends.has('close');
  });

  test(`${name}: its writer has to pause when the client does not read, and everything arrives in order`, async () => {
    using ends = await Ends.open(kind);
    const { accepted, client } = ends;
    accepted.read(ends);
    let written = '';
    for (let nth = 0; ; nth++) {
      const text = `${nth} `.repeat(2_000);
      written += text;
      if (!accepted.write(text)) break;
    }
    assert.equal(accepted.writableNeedDrain, true);
    assert.ok(accepted.writableLength > 0);
    accepted.writeBytes(Buffer.from('more'));
    client.write('read meanwhile');
    await ends.reads('read meanwhile');
    const answered = ends.answered();
    await ends.has('drain');
    accepted.writeBoth(' the', Buffer.from(' end'));
    accepted.destroySoon();
    assert.equal(await answered, `${written}more the end`);
  });

  test(`${name}: a long write is completed before it closes`, async () => {
    using ends = await Ends.open(kind);
    ends.accepted.read(ends);
    ends.accepted.writeBytes(Buffer.from(LARGE));
    ends.accepted.destroySoon();
    assert.equal(ends.accepted.destroyed, false);
    assert.equal(await ends.answered(), LARGE);
    await ends.has('close');
  });

  test(`${name}: a reset by the client closes it, once`, async () => {
    using ends = await Ends.open(kind);
    ends.accepted.read(ends);
    ends.raw.resetAndDestroy();
    await ends.has('close');
    assert.deepEqual(ends.events, ['close']);
    assert.equal(ends.accepted.destroyed, true);
  });

  test(`${name}: a write that a reset has made impossible closes it`, async () => {
    using ends = await Ends.open(kind);
    ends.accepted.read(ends);
    ends.accepted.pause();
    ends.raw.resetAndDestroy();
    await eventually('its close', () => {
      ends.accepted.write('x'.repeat(100));
      return ends.events.includes('close');
    });
    assert.equal(ends.accepted.destroyed, true);
  });

  // Over TLS, close_notify is missing instead.
  if (kind !== 'tls')
    test(`${name}: cutting it off resets the connection of the client`, async () => {
      using ends = await Ends.open(kind);
      ends.accepted.read(ends);
      const [[error]] = await Promise.all([once(ends.raw, 'error'), ends.accepted.cut()]);
      assert.equal((error as NodeJS.ErrnoException).code, 'ECONNRESET');
      await ends.has('close');
    });

  test(`${name}: its close is reported in a later tick, and what is written after it is discarded`, async () => {
    using ends = await Ends.open(kind);
    ends.accepted.read(ends);
    const answered = ends.answered();
    ends.accepted.destroy();
    assert.deepEqual([ends.events, ends.accepted.destroyed], [[], true]);
    ends.accepted.write('lost');
    ends.accepted.writeBoth('lost', Buffer.from('too'));
    await ends.has('close');
    ends.accepted.destroy();
    ends.accepted.cut();
    assert.equal(ends.accepted.socket.destroyed, true);
    assert.equal(await answered, '');
    assert.deepEqual(ends.events, ['close']);
  });

  test(`${name}: its receiver may close it`, async () => {
    using ends = await Ends.open(kind);
    ends.onReceive = () => ends.accepted.destroy();
    ends.accepted.read(ends);
    ends.client.write('x');
    await ends.has('close');
    assert.deepEqual([ends.text, ends.events], ['x', ['close']]);
  });

  test(`${name}: an exception of the receiver is reported to it, and reading continues`, async () => {
    using ends = await Ends.open(kind);
    ends.onReceive = () => {
      if (ends.text === 'one') throw new Error('too much');
    };
    ends.accepted.read(ends);
    ends.client.write('one');
    await eventually('the exception', () => ends.events.length > 0);
    ends.client.write('two');
    await ends.reads('onetwo');
    assert.deepEqual(ends.events, ['Error: too much']);
  });

  test(`${name}: what its receiver keeps is not overwritten, whether it throws, closes it, or asks for its stream`, async () => {
    const acts: Record<string, (accepted: AcceptedSocket) => void> = {
      nothing: () => undefined,
      throws: () => {
        throw new Error('too much');
      },
      closes: (accepted) => accepted.destroy(),
      asks: (accepted) => void accepted.socket,
    };
    for (const [act, then] of Object.entries(acts)) {
      using ends = await Ends.open(kind);
      const first = ends.keepsFirst(() => then(ends.accepted));
      ends.accepted.read(ends);
      ends.client.cork();
      for (const record of RECORDS) ends.client.write(record);
      ends.client.uncork();
      if (act === 'closes') await ends.has('close');
      else {
        await ends.reads(RECORDS.join(''));
        ends.client.write('later');
        await ends.reads(`${RECORDS.join('')}later`);
      }
      assert.ok(RECORDS.join('').startsWith(first()), act);
    }
  });

  test(`${name}: its stream can be asked for before it is read, and in the middle`, async () => {
    using ends = await Ends.open(kind);
    const { accepted, client } = ends;
    client.write('first ');
    const { socket } = accepted;
    const [first] = await once(socket.resume(), 'data');
    socket.pause();
    accepted.read(ends);
    client.write('second ');
    await ends.reads('second ');
    accepted.release();
    client.write('third ');
    const [third] = await once(socket.resume(), 'data');
    socket.pause();
    accepted.resumeReading();
    client.end('fourth');
    await ends.reads('second fourth');
    assert.deepEqual([String(first), String(third), accepted.socket], ['first ', 'third ', socket]);
    await ends.has('end');
  });

  test(`${name}: its stream can be made by its receiver, and when the client has ended its side`, async () => {
    using ends = await Ends.open(kind);
    ends.onReceive = () => void ends.accepted.socket;
    ends.accepted.read(ends);
    ends.client.write('one ');
    await ends.reads('one ');
    ends.client.end('two');
    await ends.has('end');
    using ended = await Ends.open(kind);
    ended.accepted.read(ended);
    ended.client.end();
    await ended.has('end');
    ended.accepted.socket.end('an answer');
    assert.deepEqual([ends.text, await ended.answered()], ['one two', 'an answer']);
    await ended.has('close');
  });
}

test('a server whose handle is not as expected makes sockets', async () => {
  const closed = createServer();
  assert.equal(
    acceptHandles(closed, () => assert.fail(), assert.ifError),
    false,
  );
});
