import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RunningAdmin, TOKEN } from '../testing/running-admin.ts';

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
const CHUNK = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);

/** A client that writes arbitrary bytes and collects the response. */
class RawClient {
  readonly socket: Socket;
  text = '';
  closed = false;

  constructor(api: RunningAdmin, ...head: string[]) {
    this.socket = connect(api.port, '127.0.0.1');
    this.socket.on('data', (piece) => {
      this.text += piece;
    });
    // A client that keeps sending is cut off; which error it sees depends on the system.
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.write(`${[...head, 'Host: localhost', AUTHORIZATION].join('\r\n')}\r\n\r\n`);
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1] ?? 0);
  }

  async until(met: () => boolean, what: string): Promise<void> {
    const end = performance.now() + 60_000;
    while (!met()) {
      if (performance.now() > end) throw new Error(`waited for ${what}; there is: ${this.text}`);
      await nextTurn();
    }
  }

  /** Sends chunks for as long as the connection accepts them. */
  async flood(met: () => boolean): Promise<void> {
    await this.until(() => {
      if (!this.closed && !this.socket.writableNeedDrain) this.socket.write(CHUNK);
      return met();
    }, 'the end of a flood');
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

const CHUNKED = 'Transfer-Encoding: chunked';
const NDJSON = 'Content-Type: application/x-ndjson';

describe('a client that is still sending', () => {
  const CASES: readonly [what: string, status: number, head: string[]][] = [
    ['a body that is too large', 413, ['POST /routes HTTP/1.1', CHUNKED]],
    ['a body that is too large and closes the connection', 413, ['POST /routes HTTP/1.1', CHUNKED, 'Connection: close']],
    ['a body on a path that does not exist', 404, ['POST /nowhere HTTP/1.1', CHUNKED]],
    ['a stream whose line never ends', 400, ['POST /routes HTTP/1.1', CHUNKED, NDJSON]],
  ];
  for (const [what, status, head] of CASES)
    it(`gets the response to ${what}, and is cut off if it never stops`, async () => {
      await using api = await RunningAdmin.start();
      using client = new RawClient(api, ...head);
      await client.flood(() => client.text.endsWith('"}'));
      assert.equal(client.status, status);
      await client.flood(() => client.closed);
    });

  it('gets 413 for a length that is too large before any body arrives', async () => {
    await using api = await RunningAdmin.start();
    using client = new RawClient(api, 'POST /routes HTTP/1.1', 'Content-Length: 65537');
    await client.until(() => client.text.endsWith('{"error":"request body too large"}'), 'the answer');
    assert.equal(client.status, 413);
  });

  it('is cut off after five seconds if it stops in the middle', async () => {
    await using api = await RunningAdmin.start();
    using client = new RawClient(api, 'POST /nowhere HTTP/1.1', 'Content-Length: 1000');
    await client.until(() => client.status === 404, 'the answer');
    api.clock.pass(4_999);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    assert.equal(client.closed, false);
    api.clock.pass(1);
    await client.until(() => client.closed, 'the end');
  });

  it('keeps its connection if it finishes within the limit', async () => {
    await using api = await RunningAdmin.start();
    using client = new RawClient(api, 'POST /nowhere HTTP/1.1', 'Content-Length: 10');
    await client.until(() => client.status === 404, 'the first answer');
    client.socket.write(`0123456789GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await client.until(() => client.text.includes('"status":"ok"'), 'the second answer');
    api.clock.pass(6_000);
    client.socket.write(`GET /routes HTTP/1.1\r\nHost: localhost\r\n${AUTHORIZATION}\r\n\r\n`);
    await client.until(() => client.text.endsWith('[]'), 'the third answer');
  });
});

describe('a client that expects 100 (Continue) (RFC 9110 10.1.1)', () => {
  const EXPECT = 'Expect: 100-continue';
  const BODY = '{"domain":"a.test","upstream":"a:1","tls":false}';

  it('gets it before it sends a route', async () => {
    await using api = await RunningAdmin.start();
    using client = new RawClient(api, 'POST /routes HTTP/1.1', `Content-Length: ${BODY.length}`, EXPECT);
    await client.until(() => client.text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'), 'the question');
    client.socket.write(BODY);
    await client.until(() => client.text.includes('HTTP/1.1 201 '), 'the answer');
  });

  it('gets it before it sends a stream', async () => {
    await using api = await RunningAdmin.start();
    using client = new RawClient(api, 'POST /routes HTTP/1.1', NDJSON, 'Content-Length: 3', EXPECT);
    await client.until(() => client.text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'), 'the question');
    client.socket.write('{}\n');
    await client.until(() => client.text.includes('HTTP/1.1 400 '), 'the answer');
  });

  it('does not get it if the header section already decides the response', async () => {
    await using api = await RunningAdmin.start();
    for (const [head, status] of [
      [['POST /routes HTTP/1.1', 'Content-Length: 65537'], 413],
      [['PUT /routes HTTP/1.1', 'Content-Length: 5'], 405],
    ] as const) {
      using client = new RawClient(api, ...head, EXPECT);
      await client.until(() => client.text.endsWith('"}'), 'the answer');
      assert.equal(client.status, status);
    }
  });
});
