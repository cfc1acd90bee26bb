import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

test('a fixed response has its status, its text in UTF-8 and its length in bytes', async () => {
  using proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, respond: { status: 201, body: 'grüße ✓' } }]);
  const answer = await proxy.request(get());
  assert.equal(answer.line, 'HTTP/1.1 201 Created');
  assert.equal(Buffer.from(answer.body, 'latin1').toString('utf8'), 'grüße ✓');
  assert.equal(field(answer.head, 'Content-Type'), 'text/plain; charset=utf-8');
  assert.equal(field(answer.head, 'Content-Length'), '11');
});

test('a fixed response without text has an empty body, and 204 and 304 have neither body nor length', async () => {
  for (const [status, body, length] of [
    [200, '', '0'],
    [204, 'text', null],
    [304, 'text', null],
  ] as const) {
    using proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, respond: { status, body } }]);
    const client = await proxy.connect();
    client.send(get().repeat(2));
    const answer = await client.readAnswer();
    assert.deepEqual([answer.body, field(answer.head, 'Content-Length')], ['', length], String(status));
    assert.match((await client.readAnswer()).line, new RegExp(` ${status} `));
  }
});

test('a block without a response or targets of its own uses the site’s response', async () => {
  using upstream = await UpstreamFixture.serving(ok('target'));
  using proxy = await ProxyFixture.start([
    {
      domain: 'a.test',
      upstream: null,
      tls: false,
      respond: { status: 200, body: 'site' },
      handles: [
        { path: '/own', respond: { status: 200, body: 'own' } },
        { path: '/target', upstreams: [{ address: upstream.address }] },
        { path: '/neither', headers: [{ name: 'X-Block', value: '1' }] },
      ],
    },
  ]);
  const bodies = [];
  for (const path of ['/own', '/target', '/neither', '/else']) bodies.push((await proxy.request(get(path))).body);
  assert.deepEqual(bodies, ['own', 'target', 'site', 'site']);
});
