import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const PATH = '/.well-known/acme-challenge/token-1';

test('a pending challenge is answered for any host before all routes, and other tokens are left to the site', async () => {
  using upstream = await UpstreamFixture.serving(ok('from the site'));
  using proxy = await ProxyFixture.start([
    { ...site('a.test', upstream), redirects: [{ from: '/*', to: 'https://b.test/', status: 308 }] },
  ]);
  await proxy.publish([site('c.test', upstream)]);
  await proxy.challenge([{ token: 'token-1', keyAuthorization: 'token-1.thumbprint' }]);
  assert.equal((await proxy.request(get(PATH))).body, 'token-1.thumbprint');
  assert.equal((await proxy.request(get(PATH).replace('a.test', 'nowhere.test'))).body, 'token-1.thumbprint');
  assert.match((await proxy.request(get(`${PATH}2`))).line, / 308 /);
  assert.equal((await proxy.request(get(`${PATH}2`).replace('a.test', 'c.test'))).body, 'from the site');
  await proxy.challenge([]);
  assert.match((await proxy.request(get(PATH))).line, / 308 /);
});
