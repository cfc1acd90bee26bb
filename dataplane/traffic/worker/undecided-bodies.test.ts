import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Http2Client } from '../testing/http2/upstream.ts';
import { as, ManualCompares } from '../testing/manual-compares.ts';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';

const [FIRST, REST] = ['x'.repeat(90_000), 'y'.repeat(10_000)];
const LENGTH = FIRST.length + REST.length;
const PASSWORD = { users: [{ name: 'bob', hash: '$2b$04$......................JgDvSGtFJwwSs8gQTD9PW8eoXmQ8gF.' }] };
const CREDENTIALS = as('bob:secret');

/** Sends the head of a request whose body follows. @returns what sends a piece of it. */
type Send = (proxy: ProxyFixture, t: TestContext) => Promise<(piece: string) => void>;

const overHttp1: Send = async (proxy) => {
  const client = await proxy.connect();
  client.send(`PUT / HTTP/1.1\r\nHost: a.test\r\n${CREDENTIALS}Content-Length: ${LENGTH}\r\n\r\n`);
  return (piece) => client.send(piece);
};

const overHttp2: Send = async (proxy, t) => {
  const { session } = new Http2Client(proxy);
  t.after(() => session.destroy());
  const authorization = CREDENTIALS.slice(CREDENTIALS.indexOf(' ') + 1, -2);
  const stream = session.request({ ':method': 'PUT', ':authority': 'a.test', authorization, 'content-length': LENGTH });
  stream.on('error', () => undefined);
  return (piece) => void stream.write(piece);
};

for (const [protocol, send] of [
  ['HTTP/1.1', overHttp1],
  ['HTTP/2', overHttp2],
] as const) {
  test(`over ${protocol}, a body that arrives while a newer table checks a password reaches the target whole`, async (t) => {
    const compares = new ManualCompares();
    using upstream = await UpstreamFixture.start();
    const route = { ...site('a.test', upstream), hold_secs: 10 };
    using proxy = await ProxyFixture.start([route], [], compares.compare);
    const sendBody = await send(proxy, t);
    // The target closes before any of the body has come, so the request is held, and the newer table serves it again.
    const first = await upstream.accept();
    await first.readHead();
    first.end();
    await first.until('the end', () => first.closed);
    await proxy.publish([{ ...route, basic_auth: PASSWORD }]);
    await eventually('the password to be checked', () => {
      proxy.clock.pass(250);
      return compares.begun.length === 1;
    });
    sendBody(FIRST);
    await setTimeout(50);
    compares.settle(0, true);
    const second = await upstream.accept();
    await second.readHead();
    sendBody(REST);
    await second.until('the body', () => second.unread.endsWith(REST));
    assert.equal(second.unread.length, LENGTH);
  });
}
