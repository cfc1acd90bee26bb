import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { desire } from '../desired/desire.ts';
import { sampleListing, sampleRoute } from '../desired/testing/sample-listing.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import { createControllerMetrics } from './metrics.ts';
import { type ControllerReport, Report } from './report.ts';
import { listenStatus } from './server.ts';

const ADDRESS = 'unix:/run/a.sock';
const SINCE = '2026-01-01T00:00:00.000Z';

function stateOf(...domains: string[]): DesiredState {
  const listing = sampleListing([sampleRoute('a.example', '127.0.0.1:1'), ...domains]);
  const lost = sampleListing(['a.example'], { source: 'docker' });
  const desired = desire(
    new Map([
      ['file', { listing, errors: [] }],
      ['docker', { listing: lost, errors: [] }],
    ]),
  );
  return { desired, problems: desired.problems.map((problem) => ({ ...problem, since: SINCE })) };
}

const TOKEN = 'the-token';

async function pages(t: TestContext, token: string | undefined = TOKEN) {
  const clock = new ManualClock();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-status-'));
  const socketPath = join(folder, 'controller.sock');
  const report = new Report(clock, { controller: 'c', epoch: 5, version: '1.2.3', sources: ['file', 'docker'] }, [ADDRESS]);
  const log = memoryLog();
  const { text: metrics } = createControllerMetrics(report);
  const server = await listenStatus({
    host: '127.0.0.1',
    port: 0,
    sockets: [socketPath],
    token,
    report,
    metrics,
    uptimeSecs: () => 12,
    clock,
    log,
  });
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const authorization = `Bearer ${token}`;
  const get = (path: string, method = 'GET', headers: Record<string, string> = { authorization }) =>
    fetch(`http://${server.address}${path}`, { method, headers });
  /** The status code of a response over TCP or the socket, with any Host. */
  const asked = (where: 'tcp' | 'socket', path: string, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const [host, port] = server.address.split(':');
      const to = where === 'tcp' ? { host, port } : { socketPath };
      const call = request({ ...to, path, headers, agent: false }, (response) => resolve(response.resume().statusCode ?? 0));
      call.on('error', reject).end();
    });
  return { clock, report, get, asked, socketPath, server, log };
}

const applied = (...results: { domain: string; result: 'added' | 'rejected' | 'conflicted'; reason?: string }[]) => ({
  instance: 'i',
  revision: 4,
  generation: 1,
  results,
  removed: [],
});

test('health is ok while the process runs', async (t) => {
  const { get } = await pages(t);
  assert.deepEqual(await (await get('/health')).json(), { status: 'ok', uptime_secs: 12 });
});

test('is ready once a source has listed and every data plane has acknowledged', async (t) => {
  const { report, get } = await pages(t);
  const ready = async () => {
    const response = await get('/ready');
    return [response.status, ((await response.json()) as { reason: string | null }).reason];
  };
  assert.deepEqual(await ready(), [503, 'no source has been read yet']);
  report.built(stateOf());
  report.failed(ADDRESS, 'failed', 'no such socket');
  assert.deepEqual(await ready(), [503, `${ADDRESS} has not acknowledged a frame yet: no such socket`]);
  report.applied(ADDRESS, applied(), stateOf());
  assert.deepEqual(await ready(), [200, null]);
});

test('a method other than GET is 405, another path 404', async (t) => {
  const { get } = await pages(t);
  const wrong = await get('/status', 'POST');
  assert.deepEqual([wrong.status, wrong.headers.get('allow'), (await get('/nothing')).status], [405, 'GET', 404]);
});

test('over TCP the status requires the token; health, readiness and metrics do not', async (t) => {
  const { get } = await pages(t);
  const statusOf = async (path: string, authorization: string) => (await get(path, 'GET', { authorization })).status;
  for (const wrong of ['', 'Bearer wrong', `Basic ${TOKEN}`, `Bearer ${TOKEN}x`]) {
    assert.equal(await statusOf('/status', wrong), 401, wrong);
    assert.deepEqual([await statusOf('/health', wrong), await statusOf('/metrics', wrong)], [200, 200]);
  }
  assert.match((await get('/status', 'GET', {})).headers.get('www-authenticate') ?? '', /^Bearer /);
  assert.equal(await statusOf('/status', `Bearer ${TOKEN}`), 200);
});

test('without a configured token the status is available only on the socket', async (t) => {
  const { asked, socketPath } = await pages(t, '');
  await until('the socket', () => existsSync(socketPath));
  assert.deepEqual([await asked('tcp', '/status', { authorization: 'Bearer ' }), await asked('socket', '/status')], [401, 200]);
});

test('only the owner can access the socket, which is removed with the controller', async (t) => {
  const { asked, socketPath, server } = await pages(t);
  await until('the socket', () => existsSync(socketPath));
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  for (const path of ['/status', '/health', '/ready', '/metrics']) assert.notEqual(await asked('socket', path), 401);
  await server.close();
  assert.equal(existsSync(socketPath), false);
});

test('a browser gets no status for a page of another site or by a foreign name, with the token or on the socket', async (t) => {
  const { asked, socketPath } = await pages(t);
  await until('the socket', () => existsSync(socketPath));
  const authorization = `Bearer ${TOKEN}`;
  for (const foreign of [{ host: 'rebound.example' }, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
    for (const where of ['tcp', 'socket'] as const) {
      assert.equal(await asked(where, '/status', { authorization, ...foreign }), 403, `${where} ${JSON.stringify(foreign)}`);
      assert.equal(await asked(where, '/health', foreign as Record<string, string>), 200);
    }
  for (const host of ['localhost', '127.0.0.1:6191', '[::1]'])
    assert.equal(await asked('tcp', '/status', { authorization, host }), 200, host);
  assert.equal(await asked('socket', '/status', { host: 'sluice' }), 200);
});

test('a socket still in use by another process is opened as soon as it is free', async (t) => {
  const first = await pages(t);
  await until('the socket', () => existsSync(first.socketPath));
  const clock = new ManualClock();
  const { report, log } = first;
  const { text: metrics } = createControllerMetrics(report);
  const sockets = [first.socketPath];
  const second = await listenStatus({
    host: '127.0.0.1',
    port: 0,
    sockets,
    token: TOKEN,
    report,
    metrics,
    uptimeSecs: () => 1,
    clock,
    log,
  });
  t.after(second.close);
  const told = () => log.lines.filter(({ message }) => message.includes('cannot be opened yet')).length;
  await until('the log', () => {
    clock.pass(5_000);
    return told() === 1;
  });
  await first.server.close();
  await until('the socket', () => {
    clock.pass(5_000);
    return existsSync(first.socketPath);
  });
  assert.equal(await first.asked('socket', '/status'), 200);
});

test('metrics report pushes by outcome, the revision, routes, conditions, problems and the last reload', async (t) => {
  const { report, get } = await pages(t);
  const state = stateOf();
  report.built(state);
  report.applied(ADDRESS, applied(), state);
  report.failed(ADDRESS, 'refused', 'stale');
  report.reloaded(['Sluicefile:1:1: no']);
  const response = await get('/metrics');
  const text = await response.text();
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  for (const line of [
    `sluice_controller_pushes_total{dataplane="${ADDRESS}",outcome="applied"} 1`,
    `sluice_controller_pushes_total{dataplane="${ADDRESS}",outcome="refused"} 1`,
    `sluice_controller_revision{dataplane="${ADDRESS}"} 4`,
    'sluice_controller_routes 1',
    'sluice_controller_problems{source="docker"} 1',
    'sluice_controller_last_reload_successful 0',
    'sluice_controller_ready 1',
    'sluice_controller_conditions{condition="accepted",holds="true"} 1',
    'sluice_controller_conditions{condition="accepted",holds="false"} 1',
    'sluice_controller_conditions{condition="resolved",holds="false"} 0',
    'sluice_controller_conditions{condition="programmed",holds="true"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line);
  report.applied(ADDRESS, applied({ domain: 'a.example', result: 'rejected', reason: 'too large' }), state);
  const after = await (await get('/metrics')).text();
  assert.ok(after.includes('\nsluice_controller_conditions{condition="programmed",holds="false"} 1\n'));
});

test('status shows accepted, resolved and programmed for every object, each with its reason and time', async (t) => {
  const { clock, report, get } = await pages(t);
  const start = new Date(clock.now()).toISOString();
  const state = stateOf('b.example');
  report.built(state);
  clock.pass(1_000);
  const later = new Date(clock.now()).toISOString();
  report.applied(
    ADDRESS,
    applied({ domain: 'a.example', result: 'added' }, { domain: 'b.example', result: 'conflicted', reason: 'it belongs to x' }),
    state,
  );
  report.objects.upstream('127.0.0.1:1', false, 'connection refused');
  const { objects } = (await (await get('/status')).json()) as ControllerReport;
  const object = (domain: string, source: string) => objects.find((one) => one.domain === domain && one.source === source);
  assert.deepEqual(object('a.example', 'file')?.accepted, { holds: true, reason: 'valid; the host belongs to it', since: start });
  assert.deepEqual(object('a.example', 'file')?.resolved, {
    holds: false,
    reason: 'no target is available: 127.0.0.1:1 connection refused',
    since: later,
  });
  assert.deepEqual(object('a.example', 'file')?.programmed, { [ADDRESS]: { holds: true, reason: 'served', since: later } });
  assert.deepEqual(object('b.example', 'file')?.programmed, {
    [ADDRESS]: { holds: false, reason: 'conflicted: it belongs to x', since: later },
  });
  assert.equal(object('a.example', 'docker')?.accepted.holds, false);
  assert.match(object('a.example', 'docker')?.accepted.reason ?? '', /belongs to Sluicefile:a\.example/);
});

test('a refused route stays refused while other frames are applied, until it gets another result', async (t) => {
  const { report } = await pages(t);
  const state = stateOf('b.example');
  const programmed = () => report.objects.list().find(({ domain }) => domain === 'b.example')?.programmed[ADDRESS]?.holds;
  report.built(state);
  report.applied(ADDRESS, applied({ domain: 'b.example', result: 'rejected', reason: 'no' }), state);
  report.applied(ADDRESS, applied({ domain: 'a.example', result: 'added' }), state);
  assert.equal(programmed(), false);
  report.applied(ADDRESS, applied({ domain: 'b.example', result: 'added' }), state);
  assert.equal(programmed(), true);
});

test('an object whose route is removed is no longer listed', async (t) => {
  const { report } = await pages(t);
  report.built(stateOf('b.example'));
  report.built(stateOf());
  assert.deepEqual(
    report.objects.list().map(({ domain }) => domain),
    ['a.example', 'a.example'],
  );
});
