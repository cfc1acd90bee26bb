import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field } from '../../testing/wire.ts';

/** What hostile clients send after a slash. */
const HOSTILE = [
  '\\evil.test',
  '%09/evil.test',
  '%5Cevil.test',
  '%2Fevil.test',
  '%2f%2fevil.test',
  '%0d%0a/evil.test',
  '%00\\evil.test',
  '%7F/evil.test',
  '/evil.test',
  '//evil.test',
  '\\/\\evil.test',
  '.evil.test',
  '@evil.test',
  ':1@evil.test',
  '%40evil.test',
  'https://evil.test',
  'javascript:alert(1)',
  './/evil.test',
  '%2e//evil.test',
  '..//evil.test/..%2f',
  '?//evil.test',
  'x',
  '',
];
const LOCAL = [
  '/{remainder}',
  '{remainder}',
  '{path}',
  '{uri}',
  '/{path}',
  '{query}',
  '/{query}{path}',
  '{scheme}{uri}',
  '/{query.q}',
  '{query.q}',
  '/{header.x-to}',
  '{header.x-to}',
  '/%09{path}',
  '{host}{path}',
];
const ELSEWHERE = [
  'https://b.test{remainder}',
  'https://b.test{path}',
  'https://b.test{query}',
  '//b.test{uri}',
  'https://b.test/{remainder}',
  'https://b.test?{query}',
  'https://b.test{query.q}',
  'https://b.test{header.x-to}',
];

const BASE = 'https://a.test/dir/page';

test('a location never leads to a host that only the client has chosen, read literally or decoded once', async () => {
  for (const [targets, host] of [
    [LOCAL, 'a.test'],
    [ELSEWHERE, 'b.test'],
  ] as const)
    for (const to of targets) {
      using proxy = await ProxyFixture.start([
        {
          domain: 'a.test',
          upstream: null,
          tls: false,
          redirects: [
            { from: '/strip/*', to, status: 302 },
            { from: '/*', to, status: 302 },
          ],
        },
      ]);
      const client = await proxy.connect();
      for (const text of HOSTILE)
        for (const asked of [`/strip/${text}`, `/${text}`, `/strip/x?${text}`, `/strip/x?q=${text}`]) {
          client.send(get(asked, `X-To: ${text}\r\n`));
          const { line, head } = await client.readAnswer();
          const location = field(head, 'Location') ?? '';
          // An ambiguous path is not redirected.
          if (line.includes(' 400 ')) continue;
          assert.match(line, / 302 /, asked);
          for (const read of [location, decodedOnce(location)]) {
            assert.equal(new URL(read, BASE).host, host, `${asked} to ${to}: ${read}`);
            if (host === 'a.test') assert.match(read, /^\/(?![/\\\x00-\x1f\x7f])/, `${asked} to ${to}`);
          }
        }
    }
});

/** Every escape decoded to one byte, as careless servers do. */
const decodedOnce = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

test('OPTIONS * is redirected to the root of the other host', async () => {
  using proxy = await ProxyFixture.start([
    { domain: 'a.test', upstream: null, tls: false, redirects: [{ from: '*', to: 'https://b.test{uri}', status: 308 }] },
  ]);
  assert.equal(field((await proxy.request('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n')).head, 'Location'), 'https://b.test/*');
});
