import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Purge } from '../../../shared/wire/purge.ts';
import { RunningAdmin } from '../testing/running-admin.ts';

test('PURGE says how many entries it removed, and answers with 503 if their files could not be deleted', async () => {
  const asked: Purge[] = [];
  let saved = true;
  const purge = async (which: Purge) => {
    asked.push(which);
    return { count: which.kind === 'tag' ? 0 : 3, saved };
  };
  await using api = await RunningAdmin.start({ purge });
  const send = async (path: string) => {
    const { status, text } = await api.request('PURGE', path);
    return [status, JSON.parse(text)];
  };
  assert.deepEqual(await send('/cache/a.test/x?y'), [200, { purged: true }]);
  assert.deepEqual(await send('/cache?host=a.test&prefix=/x/'), [200, { purged: true, entries: 3 }]);
  assert.deepEqual(await send('/cache?host=my_app.test'), [200, { purged: true, entries: 3 }]);
  assert.deepEqual(await send('/cache?tag=t'), [404, { purged: false, reason: 'not found' }]);
  saved = false;
  const [status, { error }] = await send('/cache/a.test/x');
  assert.equal(status, 503);
  assert.match(error, /^not removed from disk: it is not served any more, but a restart may find its files/);
  assert.deepEqual(asked.slice(0, 4), [
    { kind: 'target', host: 'a.test', target: '/x?y' },
    { kind: 'prefix', host: 'a.test', prefix: '/x/' },
    { kind: 'prefix', host: 'my_app.test', prefix: '/' },
    { kind: 'tag', tag: 't' },
  ]);
});

test('the path of a PURGE may have its leading slash already, and may also begin with two', async () => {
  const stored = new Set(['/x', '//y?z', '/both', '//both']);
  const purge = async (which: Purge) => ({ count: which.kind === 'target' && stored.delete(which.target) ? 1 : 0, saved: true });
  await using api = await RunningAdmin.start({ purge });
  const send = async (path: string) => (await api.request('PURGE', path)).status;
  assert.deepEqual([await send('/cache/a.test//x'), await send('/cache/a.test//y?z'), await send('/cache/a.test//y?z')], [200, 200, 404]);
  assert.equal(await send('/cache/a.test//both'), 200);
  assert.deepEqual([...stored], [], 'what is confirmed is not served any more');
});
