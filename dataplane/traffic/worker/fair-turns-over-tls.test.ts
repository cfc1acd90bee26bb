import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { SecureFixture } from '../testing/proxy/secure-proxy.ts';
import { site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { Wire } from '../testing/wire.ts';

test('many pipelined requests and tiny chunks are all answered over TLS too', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  const fixed = { domain: 'b.test', upstream: null, tls: false, respond: { status: 200, body: 'x' } };
  using secure = await SecureFixture.of([site('a.test', upstream), fixed], 'b.test');
  for (const name of ['a.test', 'b.test']) {
    const socket = connect({ host: '127.0.0.1', port: secure.proxy.securePort, servername: name, ca: secure.ca });
    await once(socket, 'secureConnect');
    const wire = new Wire(socket);
    if (name === 'b.test') {
      wire.send('GET / HTTP/1.1\r\nHost: b.test\r\n\r\n'.repeat(2_000));
      await wire.until('all answers', () => wire.unread.split('HTTP/1.1 200 OK').length === 2_001);
    } else {
      wire.send(`POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nZ\r\n'.repeat(50_000)}0\r\n\r\n`);
      assert.equal((await wire.readAnswer()).body, '50000');
    }
    socket.destroy();
  }
});
