import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import { Upstream } from '../testing/upstream.ts';

test('a frame with 100,000 routes is served and restored after a restart', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  const routes = Array.from({ length: 100_000 }, (_, index) => ({ domain: `site-${index}.test`, upstream: upstream.address }));
  const sample = [0, 1, 499, 500, 50_000, 99_998, 99_999];
  {
    await using dataplane = await Dataplane.start({ stateDir: folder.path });
    const answer = await dataplane.admin('POST', '/routes', frame(1, routes), NDJSON);
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
    const { applied } = JSON.parse(answer.text) as { applied: { results: { result: string }[]; removed: string[] } };
    assert.equal(applied.results.length, 100_000);
    assert.ok(applied.results.every(({ result }) => result === 'added'));
    for (const index of sample) assert.equal((await dataplane.visit(`site-${index}.test`)).status, 200);
    // The next full frame omits one route and changes one, and leaves all others unchanged.
    const next = routes.slice(1).map((route) => (route.domain === 'site-7.test' ? { ...route, tls: true } : route));
    const second = JSON.parse((await dataplane.admin('POST', '/routes', frame(2, next), NDJSON)).text) as {
      applied: { results: { result: string }[]; removed: string[] };
    };
    assert.deepEqual(second.applied.removed, ['site-0.test']);
    assert.equal(second.applied.results.filter(({ result }) => result === 'unchanged').length, 99_998);
    assert.equal((await dataplane.visit('site-0.test')).status, 404);
    await dataplane.program.kill('SIGKILL');
  }
  await using again = await Dataplane.start({ stateDir: folder.path });
  for (const index of sample.slice(1)) assert.equal((await again.visit(`site-${index}.test`)).status, 200);
  assert.equal((await again.visit('site-0.test')).status, 404);
  assert.equal(JSON.parse((await again.admin('GET', '/routes')).text).length, 99_999);
});
