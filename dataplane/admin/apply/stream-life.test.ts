import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../../shared/runtime/testing/until.ts';
import { RunningAdmin } from '../testing/running-admin.ts';
import { frame, header, NDJSON, route, StreamClient, text } from '../testing/stream-client.ts';

const reloadable = (revision: number) => text(header(revision, { reload: true }), { end: { revision } });

describe('an apply stream', () => {
  it('is ended cleanly when the same controller opens another one', async () => {
    await using api = await RunningAdmin.start();
    const first = new StreamClient(api).write(frame(1));
    await first.next('applied');
    const second = new StreamClient(api).write(frame(2));
    await second.next('applied');
    await until('the end of the first stream', () => first.ended);
    assert.equal(first.whole, true);
    second.close();
  });

  it('that never sends anything is closed after 60 s', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write('\n');
    await api.request('GET', '/health');
    api.clock.pass(60_000);
    await api.request('GET', '/health');
    assert.equal(stream.ended, false);
    api.clock.pass(2_000);
    await until('the end of a silent stream', () => stream.ended);
    assert.equal(stream.status, 0);
  });

  it('ends with a reason at a malformed later frame, and what was applied stays', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(frame(1, route('a.test')));
    await stream.next('applied');
    stream.write('nonsense\n');
    const refused = await stream.next('refused');
    assert.match(`${refused.error}`, /^malformed apply stream: /);
    assert.deepEqual(
      api.table.list().map((owned) => owned.route.domain),
      ['a.test'],
    );
  });

  it('continues after a stale later frame, so that a full frame can follow', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(frame(5));
    await stream.next('applied');
    stream.write(frame(4));
    assert.equal((await stream.next('refused')).current, 5);
    stream.write(frame(6, route('a.test')));
    assert.equal((await stream.next('applied')).revision, 6);
    stream.close();
  });

  it('applies frames that arrive together one by one, and answers each', async () => {
    await using api = await RunningAdmin.start();
    const reply = await api.post(frame(1, route('a.test')) + frame(2, route('b.test')) + frame(3), { headers: NDJSON });
    const lines = reply.text.trim().split('\n');
    const answers = lines.map((line) => (JSON.parse(line) as { applied: { revision: number; removed: string[] } }).applied);
    assert.deepEqual(
      answers.map(({ revision, removed }) => [revision, removed]),
      [
        [1, []],
        [2, ['a.test']],
        [3, ['b.test']],
      ],
    );
  });

  it('accepts a last line without a line end', async () => {
    await using api = await RunningAdmin.start();
    assert.equal((await api.post(frame(1, route('a.test')).trimEnd(), { headers: NDJSON })).status, 200);
  });

  it('accepts its content type in any case and with parameters', async () => {
    await using api = await RunningAdmin.start();
    const headers = { 'content-type': 'Application/X-NDJSON; charset=utf-8' };
    assert.equal((await api.post(frame(1), { headers })).status, 200);
  });
});

describe('an open stream reports', () => {
  it('a route of its controller that the Admin API replaced, with its six members, but not one that is only shadowed', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(frame(1, route('a.test'), route('b.test')));
    await stream.next('applied');
    await api.post({ domain: 'b.test', upstream: 'x:1', tls: false });
    await api.post({ domain: 'a.test', upstream: 'x:1', tls: true, source: 'file' });
    const told = await stream.next('routes');
    assert.deepEqual(told, {
      domain: 'a.test',
      change: 'replaced',
      route: { domain: 'a.test', upstream: 'x:1', tls: true, rate_limit_rps: null, under_attack: false, source: 'file' },
    });
    assert.deepEqual(stream.lines, []);
    stream.close();
  });

  it('nothing about the routes of another controller', async () => {
    await using api = await RunningAdmin.start();
    const other = new StreamClient(api).write(text(header(1, { controller: 'other', sources: ['docker'] }), { end: { revision: 1 } }));
    await other.next('applied');
    const stream = new StreamClient(api).write(frame(1, route('a.test')));
    await stream.next('applied');
    await api.request('DELETE', '/routes/a.test');
    await stream.next('routes');
    api.events.emit({ kind: 'upstream', address: '127.0.0.1:80', healthy: false, reason: 'refused' });
    const health = { address: '127.0.0.1:80', healthy: false, reason: 'refused' };
    assert.deepEqual([await stream.next('upstream'), await other.next('upstream')], [health, health]);
    assert.deepEqual(other.lines, []);
    for (const one of [stream, other]) one.close();
  });
});

describe('a reload', () => {
  it('is answered with 501 as soon as no stream that can reload is open', async () => {
    await using api = await RunningAdmin.start();
    const plain = new StreamClient(api).write(text(header(1, { controller: 'plain', sources: ['x'] }), { end: { revision: 1 } }));
    await plain.next('applied');
    assert.equal((await api.request('POST', '/reload')).status, 501);
    const stream = new StreamClient(api).write(reloadable(1));
    await stream.next('applied');
    assert.equal((await api.request('POST', '/reload')).status, 200);
    await stream.next('reload');
    const events: string[] = [];
    api.events.subscribe((event) => events.push(event.kind));
    stream.close();
    await until('the stream to be gone', () => events.includes('controller'));
    assert.equal((await api.request('POST', '/reload')).status, 501);
    assert.deepEqual(plain.lines, []);
    plain.close();
  });

  it('that no controller answers is answered with 503 after 30 seconds', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(reloadable(1));
    await stream.next('applied');
    const waiting = api.request('POST', '/reload?wait=true');
    await stream.next('reload');
    api.clock.pass(30_000);
    const reply = await waiting;
    assert.equal(reply.status, 503);
    assert.match((JSON.parse(reply.text) as { error: string }).error, /^reload not answered: /);
    stream.close();
  });

  it('states the rest of its cooldown in whole seconds, rounded up, and works again when it ends', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(reloadable(1));
    await stream.next('applied');
    assert.equal((await api.request('POST', '/reload')).status, 200);
    for (const [passed, seconds] of [
      [0, '5'],
      [1, '5'],
      [999, '4'],
      [3_999, '1'],
    ] as const) {
      api.clock.pass(passed);
      assert.equal((await api.request('POST', '/reload')).headers['retry-after'], seconds);
    }
    api.clock.pass(1);
    assert.equal((await api.request('POST', '/reload')).status, 200);
    stream.close();
  });

  it('can be forgotten once it is disconnected, which ends the warning about it', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(reloadable(7));
    await stream.next('applied');
    const forget = async (id: string) => {
      const { status, text: body } = await api.request('DELETE', `/controllers/${id}`);
      return [status, JSON.parse(body)];
    };
    assert.deepEqual(await forget('c'), [409, { error: 'controller is connected' }]);
    await api.post(text(header(1, { controller: 'at home', sources: ['x'] }), { end: { revision: 1 } }), { headers: NDJSON });
    assert.deepEqual(await forget('at%20home'), [200, { deleted: 'at home', routes: 0 }]);
    assert.deepEqual(await forget('at%20home'), [404, { error: 'controller not found' }]);
    const { controllers } = JSON.parse((await api.request('GET', '/status')).text) as { controllers: { id: string }[] };
    assert.deepEqual(
      controllers.map(({ id }) => id),
      ['c'],
    );
    stream.close();
  });

  it('appears in the status, with the controllers that are connected and those that were', async () => {
    await using api = await RunningAdmin.start();
    const stream = new StreamClient(api).write(reloadable(7));
    await stream.next('applied');
    await api.post(text(header(1, { controller: 'piped', sources: ['x'] }), { end: { revision: 1 } }), { headers: NDJSON });
    type Status = {
      controllers: { id: string; connected: boolean; reloadable: boolean; revision: number; away_since?: string }[];
      last_reload: { ok: boolean };
    };
    const status = JSON.parse((await api.request('GET', '/status')).text) as Status;
    assert.deepEqual(
      status.controllers.map(({ id, connected, reloadable: can, revision }) => [id, connected, can, revision]),
      [
        ['c', true, true, 7],
        ['piped', false, false, 1],
      ],
    );
    assert.deepEqual(
      status.controllers.map(({ away_since }) => away_since),
      [undefined, new Date(api.clock.now()).toISOString()],
    );
    assert.equal(status.last_reload.ok, true);
    stream.close();
  });
});
