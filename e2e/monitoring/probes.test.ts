import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';

test('the probe listener serves health, readiness and metrics without a token, and nothing else', async () => {
  using folder = new Folder();
  const port = await freePort();
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--probe-listen', `127.0.0.1:${port}`] });
  const probe = (path: string, method = 'GET') => ask({ port }, path, { method });
  assert.equal((await probe('/health')).status, 200);
  const early = await probe('/ready');
  assert.equal(early.status, 503, 'nothing has been applied yet');
  assert.match(early.text, /no table yet/);
  await dataplane.route('a.test', '127.0.0.1:9');
  assert.equal((await probe('/ready')).status, 200);
  const metrics = await probe('/metrics');
  assert.equal(metrics.status, 200);
  assert.match(metrics.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(metrics.text, /^sluice_routes 1$/m);
  for (const path of ['/routes', '/analytics', '/analytics/a.test', '/settings', '/status', '/explain?url=a.test', '/events', '/'])
    assert.equal((await probe(path)).status, 404, path);
  for (const [path, method] of [
    ['/routes', 'POST'],
    ['/routes/a.test', 'DELETE'],
    ['/reload', 'POST'],
    ['/cache/a.test/x', 'PURGE'],
  ] as const)
    assert.equal((await probe(path, method)).status, 404, `${method} ${path}`);
  assert.equal((await dataplane.visit('a.test')).status, 502, 'the route is still there');
});

test('probes never count against the limit of the Admin API', async () => {
  using folder = new Folder();
  const port = await freePort();
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--probe-listen', `127.0.0.1:${port}`] });
  for (let round = 0; round < 70; round++) assert.equal((await ask({ port }, '/metrics')).status, 200);
  for (let round = 0; round < 60; round++) assert.equal((await dataplane.admin('GET', '/routes')).status, 200, `request ${round + 1}`);
  const refused = await dataplane.admin('GET', '/routes');
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers['retry-after']) >= 1);
  assert.equal((await dataplane.admin('GET', '/health')).status, 200);
});
