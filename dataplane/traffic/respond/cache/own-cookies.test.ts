import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { get, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const TARGET = 'x'.repeat(24);
const CLEARANCE = `${'x'.repeat(28)}.123`;
const cookie = (...values: string[]): string => get('/', values.map((value) => `Cookie: ${value}\r\n`).join(''));
const split = (name?: string): Partial<RouteInput> => ({
  handles: [{ path: null, match: { share: { from: 0, to: 1, of: 1, by: 'cookie', name } } }],
});

for (const [what, more, sent] of [
  ['the target of a visitor', { lb_policy: { policy: 'cookie' } }, `lb=${TARGET}`],
  ['the targets of a visitor', { lb_policy: { policy: 'cookie' } }, `lb=${TARGET}.${TARGET}`],
  ['the group of a visitor', split(), 'sluice_split=123456'],
  ['a solved challenge', { challenge: { auto_rps: 1_000_000 } }, `sluice_clearance=${CLEARANCE}`],
  ['a challenge of the past', {}, `sluice_clearance=${CLEARANCE}; sluice_split=1`],
] as const)
  test(`a request whose only cookie is that of the proxy for ${what} is answered from the cache`, async () => {
    using upstream = await UpstreamFixture.serving(({ head }) =>
      ok(field(head, 'Cookie') ?? 'none', 'Cache-Control: max-age=60\r\nVary: Cookie\r\n'),
    );
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {}, ...more });
    assert.equal((await proxy.request(cookie(sent))).body, 'none', 'the upstream does not get it');
    for (const text of [get(), cookie(sent), cookie(`${sent}; ${sent}`), cookie(sent, sent)])
      assert.match(field((await proxy.request(text)).head, 'Cache-Status') ?? '', /; hit/);
    for (const other of ['session=1', `${sent}; session=1`, `${sent}x1234567`, `${sent};x`, `x${sent}`]) {
      const { head, body } = await proxy.request(cookie(other));
      assert.deepEqual([/; hit/.test(field(head, 'Cache-Status') ?? ''), body], [false, other]);
    }
  });

for (const [what, more, sent] of [
  ['where the site gives none of this name', {}, `lb=${TARGET}`],
  [
    'if the site has chosen the name, which its application may use, too',
    { lb_policy: { policy: 'cookie', name: 'sid' } },
    `sid=${TARGET}`,
  ],
  ['if the site has chosen the name of the groups', split('sid'), 'sid=123456'],
] as const)
  test(`a cookie like that of the proxy is a personal one ${what}`, async () => {
    using upstream = await UpstreamFixture.serving(({ head }) => ok(field(head, 'Cookie') ?? 'none', 'Cache-Control: max-age=60\r\n'));
    using proxy = await cachingProxy({ ...site('a.test', upstream), cache: {}, ...more });
    assert.equal((await proxy.request(cookie(sent))).body, sent);
    assert.equal((await proxy.request(get())).body, 'none');
    assert.equal((await proxy.request(cookie(sent))).body, sent);
  });

test('a visitor stays at its target when the cache requests a response for it', async () => {
  const targets = await Promise.all(['1', '2'].map((name) => UpstreamFixture.serving(ok(name, 'Cache-Control: no-store\r\n'))));
  try {
    using proxy = await cachingProxy({ ...site('a.test', ...targets), cache: {}, lb_policy: { policy: 'cookie' } });
    const first = await proxy.request(get());
    const [given = ''] = (field(first.head, 'Set-Cookie') ?? '').split(';');
    for (let time = 0; time < 4; time++) {
      const { head, body } = await proxy.request(get(`/${time}`, `Cookie: ${given}\r\n`));
      assert.deepEqual([body, field(head, 'Set-Cookie')], [first.body, null]);
    }
  } finally {
    for (const target of targets) target[Symbol.dispose]();
  }
});
