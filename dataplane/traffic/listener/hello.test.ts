import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { connect } from 'node:tls';
import { type HelloReading, MAX_HELLO, readHello } from './hello.ts';

/** The first bytes that Node's own client sends. */
async function helloOf(options: { servername?: string; ALPNProtocols?: string[]; maxVersion?: 'TLSv1.2' | 'TLSv1.3' }): Promise<Buffer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const heard = new Promise<Buffer>((resolve) => {
    server.once('connection', (socket: Socket) => {
      let sofar = Buffer.alloc(0);
      socket.on('data', (chunk: Buffer) => {
        sofar = Buffer.concat([sofar, chunk]);
        if (readHello(sofar).kind !== 'partial') resolve(sofar);
      });
      socket.on('error', () => undefined);
    });
  });
  const client = connect({ port: typeof address === 'object' ? (address?.port ?? 0) : 0, host: '127.0.0.1', ...options });
  client.on('error', () => undefined);
  const hello = await heard;
  client.destroy();
  server.close();
  return hello;
}

const parsed = (reading: HelloReading) => (reading.kind === 'hello' ? reading.hello : assert.fail(JSON.stringify(reading)));

/** The same handshake message in records of `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const piece = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, piece.length >> 8, piece.length & 0xff]), piece);
  }
  return Buffer.concat(records);
}

describe('a ClientHello', () => {
  test('yields the name in lower case and the protocols in order', async () => {
    const hello = await helloOf({ servername: 'WWW.Example.com', ALPNProtocols: ['h2', 'http/1.1'] });
    assert.deepEqual(parsed(readHello(hello)), { serverName: 'www.example.com', protocols: ['h2', 'http/1.1'] });
  });

  test('of TLS 1.2 is read too', async () => {
    const hello = await helloOf({ servername: 'a.test', maxVersion: 'TLSv1.2' });
    assert.deepEqual(parsed(readHello(hello)), { serverName: 'a.test', protocols: [] });
  });

  test('may omit the server name', async () => {
    assert.equal(parsed(readHello(await helloOf({}))).serverName, null);
  });

  test('may arrive in any pieces and in records of any size', async () => {
    const hello = await helloOf({ servername: 'a.test', ALPNProtocols: ['http/1.1'] });
    for (let length = 0; length < hello.length; length++)
      assert.equal(readHello(hello.subarray(0, length)).kind, 'partial', `${length} bytes`);
    for (const size of [1, 2, 3, 7, 100]) {
      const pieces = inRecords(hello, size);
      assert.equal(parsed(readHello(pieces)).serverName, 'a.test', `records of ${size}`);
      assert.equal(readHello(pieces.subarray(0, pieces.length - 1)).kind, 'partial', `records of ${size}, one byte short`);
      let parses = 0;
      for (let reading = readHello(pieces.subarray(0, 0)); reading.kind === 'partial'; parses++) {
        assert.ok(reading.needs <= pieces.length, `records of ${size}`);
        reading = readHello(pieces.subarray(0, reading.needs));
      }
      assert.ok(parses < 100, `records of ${size}: ${parses} times`);
    }
  });

  test('may be followed by other records at once, such as early data, but not interrupted by them', async () => {
    const hello = await helloOf({ servername: 'a.test', ALPNProtocols: ['h2'] });
    const changeCipherSpec = Buffer.from([20, 3, 3, 0, 1, 1]);
    const encrypted = Buffer.concat([Buffer.from([23, 3, 3, 0x41, 0]), Buffer.alloc(0x4100)]);
    const after = Buffer.concat([changeCipherSpec, encrypted]);
    for (const records of [hello, inRecords(hello, 100)])
      for (let length = 0; length < 20; length++)
        assert.equal(parsed(readHello(Buffer.concat([records, after.subarray(0, length)]))).serverName, 'a.test', `${length} bytes`);
    assert.equal(parsed(readHello(Buffer.concat([hello, after]))).serverName, 'a.test');
    for (const size of [1, 2, 3, 7, 100]) {
      const records = inRecords(hello, size);
      const interrupted = Buffer.concat([records.subarray(0, 5 + size), changeCipherSpec, records.subarray(5 + size)]);
      assert.equal(readHello(interrupted).kind, 'malformed', `after ${size} bytes`);
    }
  });

  test('is distinguished from a plain HTTP request and from anything else', () => {
    assert.equal(readHello(Buffer.from('G')).kind, 'plain');
    assert.equal(readHello(Buffer.from('GET / HTTP/1.1\r\n')).kind, 'plain');
    for (const text of [
      '\x00',
      '\x80\x2e\x01',
      '\x16\x02',
      '\x16\x03\x01\x00\x00',
      '\x16\x03\x01\xff\xff',
      '\x16\x03\x01\x00\x01\x02',
      'hello',
    ])
      assert.equal(readHello(Buffer.from(text, 'latin1')).kind, 'malformed', JSON.stringify(text));
  });

  test('whose lengths contradict each other is malformed, and is never read beyond its end', async () => {
    const hello = await helloOf({ servername: 'a.test', ALPNProtocols: ['h2'] });
    let refused = 0;
    for (let at = 5; at < hello.length; at++) {
      const broken = Buffer.from(hello);
      broken[at] = 0xff;
      const { kind } = readHello(broken);
      if (kind === 'malformed') refused++;
    }
    assert.ok(refused > 5, `${refused} of the malformed ones were detected`);
  });

  test('that never ends is refused', () => {
    const one = Buffer.from([22, 3, 1, 0, 1]);
    const start = Buffer.concat([one, Buffer.from([1]), one, Buffer.from([0]), one, Buffer.from([0x30]), one, Buffer.from([0])]);
    const many = Buffer.concat([start, ...Array.from({ length: 3_000 }, () => Buffer.concat([one, Buffer.from([0])]))]);
    assert.equal(many.length > MAX_HELLO, true);
    assert.equal(readHello(many).kind, 'malformed');
  });
});
