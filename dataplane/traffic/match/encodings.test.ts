import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

type Row = readonly [sent: string, matched: string, forwarded: string];

/**
 * What a client sends, which block serves it (`/api/*` of handle_path, `/é`, `/a%2Fb` and `/exact` of handle, or the site), and what is
 * forwarded.
 */
const TABLE: readonly Row[] = [
  // Unescaped.
  ['/', 'site', '/'],
  ['/api/x', '/api/*', '/x'],
  ['/api/', '/api/*', '/'],
  ['/api', 'site', '/api'],
  ['/apix', 'site', '/apix'],
  ['/API/x', 'site', '/API/x'],
  ['/exact', '/exact', '/exact'],
  ['/exact/', 'site', '/exact/'],
  // The query is not part of the path and is never changed.
  ['/api?x=/../y', 'site', '/api?x=/../y'],
  ['/api/x?a=%61%2F..//b', '/api/*', '/x?a=%61%2F..//b'],
  ['/exact??/api/', '/exact', '/exact??/api/'],
  ['/?/exact', 'site', '/?/exact'],
  // Escapes of unreserved characters are decoded for matching, in upper or lower case.
  ['/%61pi/x', '/api/*', '/x'],
  ['/%61%70%69/%78', '/api/*', '/%78'],
  ['/e%78act', '/exact', '/e%78act'],
  ['/%c3%a9', '/é', '/%c3%a9'],
  ['/%C3%a9', '/é', '/%C3%a9'],
  ['/%e9', 'site', '/%e9'],
  // Other escapes stay unchanged.
  ['/api%2Fx', 'site', '/api%2Fx'],
  ['/api/a%2fb', '/api/*', '/a%2fb'],
  ['/a%2Fb', '/a%2Fb', '/a%2Fb'],
  ['/a%2fb', '/a%2Fb', '/a%2fb'],
  ['/a/b', 'site', '/a/b'],
  ['/api%5Cx', 'site', '/api%5Cx'],
  ['/api/%5c..%5cx', '/api/*', '/%5c..%5cx'],
  ['/api%3Fx', 'site', '/api%3Fx'],
  ['/api/%00', '/api/*', '/%00'],
  ['/%2561pi/x', 'site', '/%2561pi/x'],
  ['/api/%252e%252e/x', '/api/*', '/%252e%252e/x'],
  // A malformed escape is text.
  ['/%', 'site', '/%'],
  ['/api/%zz', '/api/*', '/%zz'],
  ['/api/%6', '/api/*', '/%6'],
  ['/%6', 'site', '/%6'],
  // Empty segments.
  ['//api/x', '/api/*', '/x'],
  ['/api//x', '/api/*', '//x'],
  ['///', 'site', '///'],
  ['//exact', '/exact', '//exact'],
  // Dot segments, plain and escaped.
  ['/x/../api/y', '/api/*', '/y'],
  ['/api/../exact', '/exact', '/api/../exact'],
  ['/api/..', 'site', '/api/..'],
  ['/api/.', '/api/*', '/.'],
  ['/api/x/..', '/api/*', '/x/..'],
  ['/api/%2e%2E/api/y', '/api/*', '/y'],
  ['/%2E/api/y', '/api/*', '/y'],
  ['/../../exact', '/exact', '/../../exact'],
  ['/api/...', '/api/*', '/...'],
  ['/api/.hidden', '/api/*', '/.hidden'],
  ['/api/..;/x', '/api/*', '/..;/x'],
  ['/api/a;v=1/b', '/api/*', '/a;v=1/b'],
  ['/exact;a', 'site', '/exact;a'],
  ['/..%2fexact', 'site', '/..%2fexact'],
  // A backslash is an ordinary character.
  ['/api\\x', 'site', '/api\\x'],
  ['/api/..\\x', '/api/*', '/..\\x'],
  // Absolute-form is forwarded in origin-form (RFC 9112 3.2.2).
  ['http://a.test/api/x?y', '/api/*', '/x?y'],
  ['http://a.test', 'site', '/'],
  ['HTTP://A.TEST?q', 'site', '/?q'],
  ['http://a.test/x/../exact', '/exact', '/x/../exact'],
];

/** A target that is refused (RFC 9112 3.2). */
const REFUSED = ['api/x', '*', '/a#b', 'ftp://a.test/', 'http://b.test/', 'http:///x', '/a b', '?x', ''];

const block = (path: string, strip: boolean, upstream: { readonly address: string }) => ({
  path,
  strip_prefix: strip,
  upstreams: [{ address: upstream.address }],
  headers: [{ name: 'X-Block', value: path === '/%c3%a9' ? '/\xe9' : path }],
});

test('the encoding of a path decides which block serves it and what is forwarded', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line.split(' ')[1] ?? ''));
  const handles = [
    block('/api/*', true, upstream),
    block('/exact', false, upstream),
    block('/%c3%a9', false, upstream),
    block('/a%2Fb', false, upstream),
  ];
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), headers: [{ name: 'X-Block', value: 'site' }], handles }]);
  const client = await proxy.connect();
  for (const [sent, matched, forwarded] of TABLE) {
    client.send(`GET ${sent} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
    const answer = await client.readAnswer();
    const got = /^x-block: (.*)$/im.exec(answer.head)?.[1];
    assert.deepEqual([sent, got, answer.body], [sent, matched, forwarded]);
  }
  for (const sent of REFUSED) assert.match((await proxy.request(`GET ${sent} HTTP/1.1\r\nHost: a.test\r\n\r\n`)).line, / 400 /, sent);
  const asterisk = await proxy.request('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n');
  assert.equal(asterisk.body, '*');
});
