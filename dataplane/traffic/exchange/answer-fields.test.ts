import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeaderSpec } from '../../../shared/route.ts';
import { get, ProxyFixture, site } from '../testing/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';
import { compileAnswerFields, ownFields } from './answer-fields.ts';

async function answered(headers: HeaderSpec[], upstreamFields: string): Promise<(name: string) => string | null> {
  using upstream = await UpstreamFixture.serving(ok('x', upstreamFields));
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), headers }]);
  const { head } = await proxy.ask(get());
  return (name) => field(head, name);
}

test('an answer that brings nothing gets the defaults, without HSTS over plain HTTP', async () => {
  const got = await answered([], '');
  assert.equal(got('X-Content-Type-Options'), 'nosniff');
  assert.equal(got('X-Frame-Options'), 'SAMEORIGIN');
  assert.equal(got('Strict-Transport-Security'), null);
});

test("the upstream's own values win over the defaults, one by one", async () => {
  const got = await answered([], 'x-frame-options: DENY\r\nSTRICT-TRANSPORT-SECURITY: max-age=1\r\n');
  assert.equal(got('X-Frame-Options'), 'DENY');
  assert.equal(got('X-Content-Type-Options'), 'nosniff');
  assert.equal(got('Strict-Transport-Security'), 'max-age=1');
});

test("a site's headers win over both; the last of a name wins, and null removes", async () => {
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

test("a block's headers come over its site's; answers of our own have them too", async () => {
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
  const block = (await proxy.ask(get('/b'))).head;
  assert.deepEqual([field(block, 'X-Site'), field(block, 'X-Both')], ['site', 'block']);
  const missed = (await proxy.ask(get('/c'))).head;
  assert.match(missed, /^HTTP\/1\.1 404 /);
  assert.deepEqual([field(missed, 'X-Site'), field(missed, 'X-Both')], ['site', 'site']);
});

test('over HTTPS HSTS is among the defaults, unless the site says otherwise', () => {
  assert.match(ownFields(compileAnswerFields([]), true), /Strict-Transport-Security: max-age=31536000\r\n/);
  const removed = compileAnswerFields([{ name: 'strict-transport-security', value: null }]);
  assert.doesNotMatch(ownFields(removed, true), /Strict-Transport-Security/i);
});

test('a site that stays on HTTP makes no promise of HTTPS to those who come over TLS all the same', async () => {
  using upstream = await UpstreamFixture.serving(ok('x', ''));
  const conditional: HeaderSpec = { name: 'X-Got', value: '1', match: { method: ['GET'] } };
  for (const headers of [[], [conditional]])
    for (const [https, promise] of [
      ['auto', 'max-age=31536000'],
      ['off', null],
    ] as const) {
      using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), https, headers }], ['127.0.0.1/32']);
      const { head } = await proxy.ask(get('/', 'X-Forwarded-Proto: https\r\n'));
      assert.deepEqual([field(head, 'Strict-Transport-Security'), field(head, 'X-Got')], [promise, headers.length > 0 ? '1' : null]);
    }
});
