import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectSecurely, createServer as createSecureServer, type TLSSocket } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually } from '../testing/proxy/test-proxy.ts';
import { DirectSocket } from './direct-socket.ts';
import { handleOf } from './node-handle.ts';
import { EventsReader, RECORDS } from './testing/events-reader.ts';

const LARGE = 'L'.repeat(4_000_000);

/** Shared by all tests: each has a connection of its own. */
const PAIR = new CertificatesFixture().issue('a.test');

/** Both ends of a connection, ours read directly. The events are those of the socket. */
class Ends extends EventsReader {
  readonly client: Socket;
  readonly socket: Socket;
  readonly direct: DirectSocket;
  private readonly close: () => void;

  private constructor(client: Socket, socket: Socket, find: typeof handleOf, close: () => void) {
    super();
    this.client = client;
    this.socket = socket;
    this.close = close;
    this.direct = new DirectSocket(socket, this, find);
    for (const name of ['end', 'drain', 'close']) socket.on(name, () => this.events.push(name));
    socket.on('error', (error: NodeJS.ErrnoException) => this.events.push(error.code ?? error.message));
    client.on('error', () => undefined);
  }

  static async open(kind: (typeof KINDS)[number], before = ''): Promise<Ends> {
    const pair = kind.secure ? PAIR : undefined;
    const server = pair === undefined ? createServer({ allowHalfOpen: true }) : createSecureServer({ ...pair, allowHalfOpen: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, pair === undefined ? 'connection' : 'secureConnection');
    const { port } = server.address() as AddressInfo;
    const options = { port, host: '127.0.0.1', allowHalfOpen: true };
    const client = pair === undefined ? connect(options) : connectSecurely({ ...options, rejectUnauthorized: false });
    client.write(before);
    const [socket] = (await accepted) as [Socket | TLSSocket];
    if (before !== '') await eventually('what the stream reads', () => socket.readableLength === before.length);
    return new Ends(client, socket, kind.find, () => server.close());
  }

  [Symbol.dispose](): void {
    this.client.destroy();
    this.socket.destroy();
    this.close();
  }
}

const KINDS = [
  { name: 'a plain socket', secure: false, find: handleOf },
  { name: 'a TLS socket', secure: true, find: handleOf },
  { name: 'a socket with a handle that is not as expected', secure: false, find: () => null },
  { name: 'a TLS socket with such a handle', secure: true, find: () => null },
] as const;

/** What can be written. */
const WAYS: readonly (readonly [string, (direct: DirectSocket, text: string) => boolean])[] = [
  ['text', (direct, text) => direct.write(text)],
  ['bytes', (direct, text) => direct.writeBytes(Buffer.from(text))],
  ['both', (direct, text) => direct.writeBoth(text.slice(0, 3), Buffer.from(text.slice(3)))],
];

test('the handles of this version of Node are as expected, and using them prints no warning', async () => {
  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);
  process.on('warning', warned);
  for (const kind of KINDS) {
    using ends = await Ends.open(kind);
    assert.notEqual(handleOf(ends.socket), null);
  }
  process.off('warning', warned);
  assert.deepEqual(warnings, []);
});

for (const kind of KINDS) {
  test(`${kind.name}: what its stream has read comes first, then what arrives`, async () => {
    using ends = await Ends.open(kind, 'first ');
    ends.direct.read();
    ends.client.write('second');
    await ends.reads('first second');
    assert.equal(ends.socket.readableLength, 0);
  });

  test(`${kind.name}: nothing is passed on while it is paused, and all of it in order after that`, async () => {
    using ends = await Ends.open(kind);
    ends.direct.read();
    let pauses = 0;
    ends.onReceive = () => {
      ends.direct.pause();
      pauses++;
      const { text } = ends;
      setImmediate(() => {
        assert.equal(ends.text, text);
        ends.direct.resume();
      });
    };
    let sent = '';
    for (let nth = 0; sent.length < 1_000_000; nth++) sent += `${nth} `;
    ends.client.end(sent);
    await ends.reads(sent);
    assert.ok(pauses > 1);
    await eventually('the end', () => ends.events.includes('end'));
    assert.deepEqual(ends.events, ['end']);
  });

  test(`${kind.name}: its reader is asked for a buffer after all that it receives, before anything else is read into the last one`, async () => {
    using ends = await Ends.open(kind);
    let given: Buffer | null = null;
    let wrong = 0;
    ends.nextBuffer = () => {
      given = Buffer.allocUnsafeSlow(65_536);
      return given;
    };
    ends.receive = (bytes) => {
      if (given === null && kind.find === handleOf) wrong++;
      ends.text += bytes.toString('latin1');
      given = null;
      ends.direct.pause();
      setTimeout(() => {
        if (given === null && kind.find === handleOf) wrong++;
        ends.direct.resume();
      }, 2);
    };
    ends.direct.read();
    let sent = '';
    for (let nth = 0; sent.length < 400_000; nth++) sent += `${nth} `;
    ends.client.end(sent);
    await ends.reads(sent);
    // It comes after the last pause.
    await ends.has('end');
    assert.equal(wrong, 0);
  });

  test(`${kind.name}: its end is reported once what came before has been passed on, and not while it is paused`, async () => {
    using ends = await Ends.open(kind);
    ends.direct.read();
    ends.direct.pause();
    ends.client.end('last words');
    await once(ends.client, 'finish');
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    assert.deepEqual([ends.text, ends.events], ['', []]);
    ends.direct.resume();
    await eventually('the end', () => ends.events.includes('end'));
    assert.equal(ends.text, 'last words');
    assert.equal(ends.socket.destroyed, false);
    ends.direct.write('an answer');
    ends.socket.end();
    const [answer] = await once(ends.client, 'data');
    assert.equal(String(answer), 'an answer');
    await eventually('its close', () => ends.events.includes('close'));
    assert.deepEqual(ends.events, ['end', 'close']);
  });

  test(`${kind.name}: its stream continues where direct reading stopped, and back`, async () => {
    using ends = await Ends.open(kind);
    ends.direct.read();
    ends.client.write('one ');
    await ends.reads('one ');
    ends.direct.pause();
    ends.direct.release();
    ends.client.write('two ');
    const [two] = await once(ends.socket.resume(), 'data');
    assert.equal(String(two), 'two ');
    ends.socket.pause();
    ends.client.write('three ');
    await eventually('what the stream reads', () => ends.socket.readableLength > 0);
    ends.direct.read();
    ends.client.write('four');
    await ends.reads('one three four');
  });

  test(`${kind.name}: its stream reads all of a long body after direct reading stopped`, async () => {
    using ends = await Ends.open(kind);
    ends.direct.read();
    ends.direct.release();
    let read = '';
    ends.socket.on('data', (piece: Buffer) => {
      read += piece.toString('latin1');
    });
    ends.client.end(LARGE);
    await once(ends.socket.resume(), 'end');
    assert.equal(read, LARGE);
  });

  for (const [way, write] of WAYS)
    test(`${kind.name}: a writer of ${way} has to pause when its peer does not read, and everything arrives in order`, async () => {
      using ends = await Ends.open(kind);
      let written = '';
      for (let nth = 0; ; nth++) {
        const text = `${nth} `.repeat(2_000);
        written += text;
        if (!write(ends.direct, text)) break;
      }
      assert.equal(ends.socket.writableNeedDrain, true);
      write(ends.direct, 'more');
      ends.socket.write('bytes');
      let read = '';
      ends.client.on('data', (piece: Buffer) => {
        read += piece.toString('latin1');
      });
      await eventually('drain', () => ends.events.includes('drain'));
      write(ends.direct, ' the end');
      ends.socket.end();
      await once(ends.client, 'end');
      assert.equal(read, `${written}morebytes the end`);
    });

  for (const [way, write] of WAYS)
    test(`${kind.name}: small writes of ${way} arrive in order among those of its stream, and before its end`, async () => {
      for (const end of ['end', 'destroySoon'] as const) {
        using ends = await Ends.open(kind);
        let read = '';
        ends.client.on('data', (piece: Buffer) => {
          read += piece.toString('latin1');
        });
        let written = '';
        for (let nth = 0; nth < 200; nth++) {
          const text = `message ${nth} `;
          written += text;
          if (nth % 5 === 3) ends.socket.write(text);
          else assert.equal(write(ends.direct, text), true);
          if (nth % 7 === 0) await new Promise(setImmediate);
        }
        ends.socket[end]();
        await once(ends.client, 'end');
        assert.equal(read, written);
      }
    });

  test(`${kind.name}: its next user waits for what was written before`, async () => {
    using ends = await Ends.open(kind);
    let read = '';
    ends.client.on('data', (piece: Buffer) => {
      read += piece.toString('latin1');
    });
    ends.direct.write('one ');
    const next = new DirectSocket(ends.socket, ends, kind.find);
    next.write('two ');
    next.write('three ');
    ends.socket.end('four');
    await once(ends.client, 'end');
    assert.equal(read, 'one two three four');
  });

  test(`${kind.name}: its end waits for what its peer has not read yet`, async () => {
    using ends = await Ends.open(kind);
    ends.client.pause();
    let written = '';
    while (ends.direct.flushed) {
      written += 'x'.repeat(10_000);
      ends.direct.write('x'.repeat(10_000));
      await new Promise(setImmediate);
    }
    ends.socket.destroySoon();
    let read = '';
    ends.client.on('data', (piece: Buffer) => {
      read += piece.toString('latin1');
    });
    await once(ends.client.resume(), 'end');
    assert.equal(read.length, written.length);
  });

  test(`${kind.name}: a write that the peer's reset has made impossible destroys it with the error of the system`, async () => {
    using ends = await Ends.open(kind);
    ends.client.destroy();
    await eventually('the error', () => {
      if (!ends.socket.destroyed) ends.direct.write('x'.repeat(100));
      return ends.events.includes('close');
    });
    assert.match(ends.events.join(), /(EPIPE|ECONNRESET),close$/);
    assert.equal(ends.socket.destroyed, true);
  });
}

test('a reset while it is read is an error of the socket', async () => {
  for (const find of [handleOf, () => null]) {
    using ends = await Ends.open({ name: 'a plain socket', secure: false, find } as (typeof KINDS)[number]);
    ends.direct.read();
    ends.client.resetAndDestroy();
    await eventually('its close', () => ends.events.includes('close'));
    assert.deepEqual(ends.events, ['ECONNRESET', 'close']);
  }
});

test('a receiver may destroy the socket whose bytes it gets', async () => {
  for (const kind of KINDS) {
    using ends = await Ends.open(kind);
    ends.direct.read();
    ends.onReceive = () => ends.socket.destroy();
    ends.client.write('x');
    await eventually('its close', () => ends.events.includes('close'));
    assert.deepEqual([ends.text, ends.events], ['x', ['close']]);
  }
});

test('an exception of the receiver is reported to it, and reading continues', async () => {
  for (const kind of KINDS) {
    using ends = await Ends.open(kind);
    ends.direct.read();
    ends.onReceive = () => {
      if (ends.text === 'one') throw new Error('too much');
    };
    ends.client.write('one');
    await eventually('the exception', () => ends.events.length > 0);
    ends.client.write('two');
    await ends.reads('onetwo');
    assert.deepEqual(ends.events, ['Error: too much']);
  }
});

test('what was received before an exception is not overwritten', async () => {
  for (const kind of KINDS) {
    using ends = await Ends.open(kind);
    const first = ends.keepsFirst(() => {
      throw new Error('too much');
    });
    ends.direct.read();
    ends.client.cork();
    for (const record of RECORDS) ends.client.write(record);
    ends.client.uncork();
    await ends.reads(RECORDS.join(''));
    ends.client.write('later');
    await ends.reads(`${RECORDS.join('')}later`);
    assert.deepEqual([ends.events, RECORDS.join('').startsWith(first())], [['Error: too much'], true], kind.name);
  }
});

test('an exception where the stream calls to write or to end is reported, and the socket is closed', async () => {
  for (const kind of KINDS)
    for (const [what, begin] of [
      ['a write', ({ socket }: Ends) => socket.write('x')],
      ['a write that another one delayed', ({ socket }: Ends) => [socket.write(LARGE), socket.write('x')]],
      ['several such writes', ({ socket }: Ends) => [socket.write(LARGE), socket.write('x'), socket.write('y')]],
      ['the end', ({ socket }: Ends) => socket.end()],
    ] as const) {
      using ends = await Ends.open(kind);
      const { socket } = ends;
      const { _write: write } = socket;
      const fail = (): never => {
        throw new Error(what);
      };
      socket._write = (chunk: Buffer, encoding, done) =>
        chunk.length === LARGE.length ? write.call(socket, chunk, encoding, done) : fail();
      socket._writev = fail;
      socket._final = fail;
      ends.direct.adoptWrites();
      begin(ends);
      ends.client.resume();
      await eventually(`the close after ${what}`, () => ends.events.includes('close'));
      assert.deepEqual(
        ends.events.filter((event) => event !== 'drain'),
        [`Error: ${what}`, 'close'],
      );
    }
});
