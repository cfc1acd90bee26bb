import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { CertificatesFixture } from '../testing/certificates.ts';
import { eventually } from '../testing/proxy/test-proxy.ts';
import { AcceptedTls } from './accepted-tls.ts';
import { acceptHandles, tlsOver } from './node-handle.ts';
import { ServerTls } from './server-tls.ts';
import { EventsReader } from './testing/events-reader.ts';

const ALERT = 21;

/** One connection whose records are seen on their way to the client. */
class Connection extends EventsReader {
  /** The types of all records that the client has been sent (RFC 5246 6.2.1). */
  readonly records: number[] = [];
  client: Socket | null = null;
  raw: Socket | null = null;
  accepted: AcceptedTls | null = null;
  readonly secure = createTlsServer({ ...new CertificatesFixture().issue('a.test'), maxVersion: 'TLSv1.2' });
  private readonly server = createServer();
  private readonly relay = createServer((near) => {
    const far = connect((this.server.address() as AddressInfo).port, '127.0.0.1');
    this.raw = near;
    let pending: Buffer = Buffer.alloc(0);
    far.on('data', (bytes: Buffer) => {
      pending = Buffer.concat([pending, bytes]);
      for (let length = 0; pending.length >= 5; pending = pending.subarray(5 + length)) {
        length = pending.readUInt16BE(3);
        if (pending.length < 5 + length) break;
        this.records.push(pending[0] ?? 0);
      }
    });
    for (const socket of [near, far]) socket.on('error', () => undefined);
    near.pipe(far).pipe(near);
  });

  static async open(): Promise<Connection> {
    const connection = new Connection();
    const { server, relay, secure } = connection;
    await Promise.all([server, relay].map((each) => once(each.listen(0, '127.0.0.1'), 'listening')));
    const secured = new Promise<void>((resolve) => {
      const accept = (tls: ServerTls): void => {
        connection.accepted = new AcceptedTls(tls);
        connection.accepted.read(connection);
        resolve();
      };
      acceptHandles(
        server,
        (handle) => {
          const tls = tlsOver(handle, secure, Buffer.alloc(0));
          assert.ok(tls !== null);
          new ServerTls(tls, { secured: accept, failed: assert.fail, closed: assert.fail, onFault: assert.ifError }).begin(Buffer.alloc(0));
        },
        assert.ifError,
      );
    });
    const { port } = relay.address() as AddressInfo;
    connection.client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => undefined);
    await Promise.all([secured, once(connection.client, 'secureConnect')]);
    return connection;
  }

  /** Ours. */
  get ours(): AcceptedTls {
    assert.ok(this.accepted !== null);
    return this.accepted;
  }

  closed(): Promise<void> {
    return this.has('close');
  }

  /** All that the client gets. */
  async answered(): Promise<string> {
    let text = '';
    assert.ok(this.client !== null);
    this.client.on('data', (bytes) => {
      text += String(bytes);
    });
    await once(this.client, 'end');
    return text;
  }

  [Symbol.dispose](): void {
    this.client?.destroy();
    this.raw?.destroy();
    this.accepted?.destroy();
    this.server.close();
    this.relay.close();
  }
}

test('a response right before the close arrives whole and is followed by close_notify, without a stream', async () => {
  using connection = await Connection.open();
  const { ours, records } = connection;
  const answered = connection.answered();
  ours.write('an answer');
  ours.destroySoon();
  ours.destroySoon();
  ours.write('discarded');
  assert.deepEqual([ours.destroyed, ours.hasStream], [false, false]);
  assert.equal(await answered, 'an answer');
  await connection.closed();
  assert.deepEqual([records.at(-1), ours.destroyed, ours.hasStream, connection.events], [ALERT, true, false, ['close']]);
});

test('close_notify is also written if nothing else is', async () => {
  using connection = await Connection.open();
  const answered = connection.answered();
  connection.ours.destroySoon();
  assert.deepEqual([await answered, connection.records.at(-1), connection.ours.destroyed], ['', ALERT, true]);
  await connection.closed();
});

test('a connection that is cut has no close_notify, whether it has a stream or not', async () => {
  for (const prepare of [() => undefined, (ours: AcceptedTls) => void ours.socket]) {
    using connection = await Connection.open();
    const { ours, records } = connection;
    const answered = connection.answered();
    prepare(ours);
    ours.write('the beginning');
    await eventually('that nothing waits', () => ours.flushed);
    ours.cut();
    assert.equal(await answered, 'the beginning');
    await connection.closed();
    assert.equal(records.includes(ALERT), false);
  }
});

test('a stream that is requested while it closes closes after its last write', async () => {
  using connection = await Connection.open();
  const { ours } = connection;
  const answered = connection.answered();
  ours.write('an answer');
  ours.destroySoon();
  assert.equal(ours.socket.destroyed, false);
  assert.equal(await answered, 'an answer');
  await connection.closed();
  assert.equal(connection.records.at(-1), ALERT);
});

test('small writes in different turns need no stream; one while another is under way has one, and a large one', async () => {
  using connection = await Connection.open();
  const { ours } = connection;
  const answered = connection.answered();
  for (const text of ['one ', 'two ']) {
    ours.write(text);
    await eventually('that nothing waits', () => ours.flushed);
  }
  assert.equal(ours.hasStream, false);
  ours.write('three ');
  ours.writeBytes(Buffer.from('four '));
  assert.equal(ours.hasStream, true);
  ours.destroySoon();
  assert.equal(await answered, 'one two three four ');
  await connection.closed();
  using other = await Connection.open();
  const large = 'x'.repeat(20_000);
  const received = other.answered();
  other.ours.write(large);
  assert.equal(other.ours.hasStream, true);
  other.ours.destroySoon();
  assert.equal(await received, large);
});

test('a record that can not be read closes it, with and without a stream', async () => {
  for (const prepare of [() => undefined, (ours: AcceptedTls) => void ours.socket]) {
    using connection = await Connection.open();
    prepare(connection.ours);
    const { client, raw } = connection;
    assert.ok(client !== null && raw !== null);
    raw.emit('data', Buffer.from([23, 3, 3, 0, 4, 1, 2, 3, 4]));
    await connection.closed();
    assert.deepEqual([connection.ours.destroyed, connection.events], [true, ['close']]);
    connection.ours.write('discarded');
    connection.ours.destroySoon();
  }
});

test('an exception while it closes is reported to its reader, and it is closed', async () => {
  using connection = await Connection.open();
  const { ours } = connection;
  ours.write('an answer');
  ours.destroySoon();
  const { destroy } = ours;
  ours.destroy = () => {
    ours.destroy = destroy;
    throw new Error('too much');
  };
  await connection.closed();
  assert.deepEqual(connection.events, ['Error: too much', 'close']);
});
