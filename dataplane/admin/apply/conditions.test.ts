import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FullRoute, RouteConditions } from '../../../shared/wire/status.ts';
import { RunningAdmin } from '../testing/running-admin.ts';
import { frame, header, type Line, NDJSON, route, StreamClient, text } from '../testing/stream-client.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const YES = { holds: true, reason: 'a target is available', since: SINCE };
const NO = { holds: false, reason: 'no target is available', since: SINCE };

const condition = (domains: string[], more: object = {}): Line => ({
  condition: { source: 'file', domains, accepted: YES, resolved: YES, ...more },
});

async function applied(api: RunningAdmin, body: string): Promise<Record<string, unknown>> {
  const reply = await api.post(body, { headers: NDJSON });
  assert.equal(reply.status, 200, reply.text);
  return (JSON.parse(reply.text) as { applied: Record<string, unknown> }).applied;
}

const difference = (revision: number, from: number, ...lines: Line[]): string =>
  text(header(revision, { based_on: from }), ...lines, { end: { revision } });

/** What is shown of each route, by domain. */
async function shown(api: RunningAdmin): Promise<Record<string, RouteConditions | undefined>> {
  const reply = await api.request('GET', '/routes?view=full');
  return Object.fromEntries((JSON.parse(reply.text) as FullRoute[]).map(({ domain, conditions }) => [domain, conditions]));
}

const served = (api: RunningAdmin) => ({ holds: true, reason: 'served', since: new Date(api.clock.now()).toISOString() });

test('the first response of a stream says that conditions are accepted, and they are shown with the routes', async () => {
  await using api = await RunningAdmin.start();
  const { accepts } = await applied(api, frame(1, route('a.test'), route('b.test'), condition(['a.test', 'b.test'], { resolved: NO })));
  assert.deepEqual(accepts, ['condition']);
  const expected = { accepted: YES, resolved: NO, programmed: served(api) };
  assert.deepEqual(await shown(api), { 'a.test': expected, 'b.test': expected });
});

test('routes of a controller that reports no conditions, and posted ones, have only what the data plane knows', async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test')));
  await api.post({ domain: 'b.test', upstream: 'b:1', tls: false });
  const programmed = served(api);
  assert.deepEqual(await shown(api), { 'a.test': { programmed }, 'b.test': { programmed } });
});

test('a difference changes the conditions of the domains that it names, and a full frame replaces all', async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test'), route('b.test'), condition(['a.test', 'b.test'])));
  await applied(api, difference(2, 1, condition(['b.test'], { resolved: NO })));
  const resolved = async () => Object.values(await shown(api)).map((one) => one?.resolved?.holds);
  assert.deepEqual(await resolved(), [true, false]);
  await applied(api, frame(3, route('a.test'), route('b.test'), condition(['a.test'])));
  assert.deepEqual(await resolved(), [true, undefined]);
  await applied(api, difference(4, 3, { remove: { domain: 'a.test', source: 'file' } }));
  await applied(api, difference(5, 4, route('a.test')));
  assert.deepEqual(await resolved(), [undefined, undefined]);
});

test('conditions are only kept of routes that the controller owns', async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test'), condition(['a.test'])));
  const other = { controller: 'other' };
  await applied(
    api,
    text(header(1, other), route('a.test'), condition(['a.test', 'unknown.test'], { resolved: NO }), { end: { revision: 1 } }),
  );
  assert.equal((await shown(api))['a.test']?.resolved?.holds, true);
  assert.equal(api.table.reportedConditions('other', 'a.test'), undefined);
  assert.equal(api.table.reportedConditions('other', 'unknown.test'), undefined);
});

test("a posted route that overrides a controller's has not the conditions of that", async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test'), condition(['a.test'])));
  await api.post({ domain: 'a.test', upstream: 'b:1', tls: false });
  assert.deepEqual(Object.keys((await shown(api))['a.test'] ?? {}), ['programmed']);
  await api.request('DELETE', '/routes/a.test');
  assert.deepEqual(Object.keys((await shown(api))['a.test'] ?? {}), ['accepted', 'resolved', 'programmed']);
});

test('a route whose newest version was rejected is not programmed, until a good one arrives', async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test')));
  await applied(api, difference(2, 1, route('a.test', { upstream: 'no port' })));
  const rejectedAt = new Date(api.clock.now()).toISOString();
  api.clock.pass(5_000);
  await applied(api, difference(3, 2, route('a.test', { upstream: 'no port' })));
  const rejected = (await shown(api))['a.test']?.programmed;
  assert.match(rejected?.reason ?? '', /^the newest version is rejected: upstream: .*; the last good one is served$/);
  assert.deepEqual([rejected?.holds, rejected?.since], [false, rejectedAt]);
  assert.deepEqual(
    [...api.table.refusedRoutes()].map(({ domain, result }) => [domain, result]),
    [['a.test', 'rejected']],
  );
  await applied(api, difference(4, 3, route('a.test', { upstream: 'a:2' })));
  assert.deepEqual((await shown(api))['a.test']?.programmed, served(api));
  assert.deepEqual([...api.table.refusedRoutes()], []);
});

test('a route that belongs to another controller is reported as refused until its controller gives it up', async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test')));
  const other = (revision: number, ...lines: Line[]) => text(header(revision, { controller: 'other' }), ...lines, { end: { revision } });
  await applied(api, other(1, route('a.test')));
  const refused = () => [...api.table.refusedRoutes()].map(({ controller, domain, result }) => [controller, domain, result]);
  assert.deepEqual(refused(), [['other', 'a.test', 'conflicted']]);
  await applied(api, other(2));
  assert.deepEqual(refused(), []);
});

test('a controller whose route was refused is told as soon as the domain is free, unless its owner is to restore it', async () => {
  await using api = await RunningAdmin.start();
  const owner = new StreamClient(api).write(frame(1, route('a.test'), route('b.test')));
  await owner.next('applied');
  const other = (revision: number, ...lines: Line[]) => text(header(revision, { controller: 'other' }), ...lines, { end: { revision } });
  const waiting = new StreamClient(api).write(other(1, route('a.test'), route('b.test')));
  await waiting.next('applied');
  await api.request('DELETE', '/routes/b.test');
  assert.equal((await owner.next('routes')).domain, 'b.test');
  owner.write(frame(2, route('b.test')));
  await owner.next('applied');
  assert.deepEqual(await waiting.next('routes'), { domain: 'a.test', change: 'removed', route: null });
  for (const stream of [owner, waiting]) stream.close();
});

test('a frame that only has conditions publishes nothing', async () => {
  await using api = await RunningAdmin.start();
  await applied(api, frame(1, route('a.test')));
  const published: boolean[] = [];
  api.table.onChange((change) => published.push(change.published));
  const { generation } = await applied(api, difference(2, 1, condition(['a.test'])));
  await applied(api, difference(3, 2, route('a.test', { upstream: 'a:9' })));
  assert.deepEqual(published, [false, true]);
  assert.equal(generation, 2);
});

test('a malformed condition refuses its frame', async () => {
  await using api = await RunningAdmin.start();
  for (const wrong of [condition([]), condition(['a.test'], { resolved: { holds: 'yes', reason: '', since: SINCE } })]) {
    const reply = await api.post(frame(1, route('a.test'), wrong), { headers: NDJSON });
    assert.equal(reply.status, 400);
    assert.match(reply.text, /condition: /);
  }
});
