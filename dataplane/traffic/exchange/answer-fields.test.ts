import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderSpec } from '../../../shared/route.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';
import { compileAnswerFields, ownFields } from './answer-fields.ts';

async function answered(headers: HeaderSpec[], upstreamFields: string): Promise<(name: string) => string | null> {
  using upstream = await UpstreamFixture.serving(ok('x', upstreamFields));
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), headers }]);
  const { head } = await proxy.request(get());
  return (name) => field(head, name);
}

test('a response without the default fields gets them, except HSTS over plain HTTP', async () => {
  const got = await answered([], '');
  assert.equal(got('X-Content-Type-Options'), 'nosniff');
  assert.equal(got('X-Frame-Options'), 'SAMEORIGIN');
  assert.equal(got('Strict-Transport-Security'), null);
});

test('each field that the upstream sets overrides its default', async () => {
  const got = await answered([], 'x-frame-options: DENY\r\nSTRICT-TRANSPORT-SECURITY: max-age=1\r\n');
  assert.equal(got('X-Frame-Options'), 'DENY');
  assert.equal(got('X-Content-Type-Options'), 'nosniff');
  assert.equal(got('Strict-Transport-Security'), 'max-age=1');
});

test("a site's headers override both; the last of a name is used, and null removes", async () => {
  const got = await answered(
    [
      { name: 'X-Frame-Options', value: 'ALLOW' },
      { name: 'X-Twice', value: '1' },
      { name: 'x-twice', value: '2' },
      { name: 'X-Content-Type-Options', value: null },
      { name: 'Server', value: null },
      { name: 'Cache-Control', value: 'no-store' },
    ],
    'X-Frame-Options: DENY\r\nServer: origin\r\nCache-Control: public\r\ncache-control: max-age=1\r\n',
  );
  assert.equal(got('X-Frame-Options'), 'ALLOW');
  assert.equal(got('X-Twice'), '2');
  assert.equal(got('X-Content-Type-Options'), null);
  assert.equal(got('Server'), null);
  assert.equal(got('Cache-Control'), 'no-store');
});

test("a block's headers override its site's, also in responses of our own", async () => {
  using proxy = await ProxyFixture.start([
    {
      ...site('a.test'),
      headers: [
        { name: 'X-Site', value: 'site' },
        { name: 'X-Both', value: 'site' },
      ],
      handles: [{ path: '/b', respond: { status: 200, body: 'x' }, headers: [{ name: 'X-Both', value: 'block' }] }],
    },
  ]);
  const block = (await proxy.request(get('/b'))).head;
  assert.deepEqual([field(block, 'X-Site'), field(block, 'X-Both')], ['site', 'block']);
  const missed = (await proxy.request(get('/c'))).head;
  assert.match(missed, /^HTTP\/1\.1 404 /);
  assert.deepEqual([field(missed, 'X-Site'), field(missed, 'X-Both')], ['site', 'site']);
});

test('HSTS is among the defaults over HTTPS unless the site overrides it', () => {
  assert.match(ownFields(compileAnswerFields([]), true), /Strict-Transport-Security: max-age=31536000\r\n/);
  const removed = compileAnswerFields([{ name: 'strict-transport-security', value: null }]);
  assert.doesNotMatch(ownFields(removed, true), /Strict-Transport-Security/i);
});

test('a site with https off never sends HSTS, even to clients that come over TLS', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', ''));
  const conditional: HeaderSpec = { name: 'X-Got', value: '1', match: { method: ['GET'] } };
  for (const headers of [[], [conditional]])
    for (const [https, promise] of [
      ['auto', 'max-age=31536000'],
      ['off', null],
    ] as const) {
      using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), https, headers }], ['127.0.0.1/32']);
      const { head } = await proxy.request(get('/', 'X-Forwarded-Proto: https\r\n'));
      assert.deepEqual([field(head, 'Strict-Transport-Security'), field(head, 'X-Got')], [promise, headers.length > 0 ? '1' : null]);
    }
});
