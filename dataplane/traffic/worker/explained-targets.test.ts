import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

test('explain tells of each target what a client gets that sends it as it is written', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const guarded = { path: '/admin/*', respond: { status: 403, body: '' } };
  const stripped = { path: '/app/*', strip_prefix: true, upstreams: [{ address: upstream.address }] };
  using proxy = await ProxyFixture.start([{ ...site('a.test', upstream), handles: [guarded, stripped] }]);
  const statuses = new Set<string>();
  for (const target of [
    '/x',
    '//a/../x',
    '/x?/../y',
    '/admin/x',
    '//admin/x',
    '/%61dmin/x',
    '/x/../admin/x',
    '/x/%2e%2E/admin/x',
    '/admin/../x',
    '/x/..%2fadmin/x',
    '/x\\..\\admin/x',
    '/app/./a//b',
    '/app/{a}|"b"',
    `/${'a'.repeat(8_192)}`,
  ]) {
    const before = upstream.requests.length;
    const [, status = ''] = (await proxy.request(get(target))).line.split(' ');
    statuses.add(status);
    const { verdict, policies } = proxy.dryRun(`http://a.test${target}`);
    assert.match(verdict, status === '200' ? /^forwarded to / : new RegExp(`\\b${status}\\b`), target);
    const [, seen] = upstream.requests[before]?.line.split(' ') ?? [];
    const forwarded = policies.find(({ name }) => name === 'forwarded')?.verdict;
    assert.equal(forwarded, seen === undefined || seen === target ? undefined : `GET ${seen} with Host: a.test`, target);
  }
  assert.deepEqual(statuses, new Set(['200', '403', '400', '414']));
});
