import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../../shared/runtime/testing/until.ts';
import { MAX_LINE_BYTES } from '../../../shared/wire/apply.ts';
import { UnsavedError } from '../../table/table.ts';
import { RunningAdmin } from '../testing/running-admin.ts';
import { frame, header, type Line, NDJSON, route, StreamClient, text } from '../testing/stream-client.ts';

test('a single frame piped in is applied, answered with one line, and ends the stream', async () => {
  await using api = await RunningAdmin.start();
  const reply = await api.post(frame(1, route('a.test'), route('b.test')), { headers: NDJSON });
  assert.equal(reply.status, 200);
  assert.equal(reply.headers['content-type'], 'application/x-ndjson');
  const { applied } = JSON.parse(reply.text) as { applied: Line };
  assert.deepEqual(applied, {
    instance: api.table.instance,
    revision: 1,
    generation: 2,
    results: [
      { domain: 'a.test', result: 'added' },
      { domain: 'b.test', result: 'added' },
    ],
    removed: [],
    addresses: ['10.0.0.7'],
    accepts: ['condition'],
  });
  const next = JSON.parse((await api.post(frame(2, route('b.test', { tls: true })), { headers: NDJSON })).text) as { applied: Line };
  assert.deepEqual(next.applied.results, [{ domain: 'b.test', result: 'changed' }]);
  assert.deepEqual(next.applied.removed, ['a.test']);
});

test('a frame may arrive split at any byte', async () => {
  await using api = await RunningAdmin.start();
  const whole = Buffer.from(
    frame('r', route('a.test'), { problem: { source: 'file', origin: 'Sluicefile:1', code: 'x', message: 'ümläut', since: 'now' } }),
  );
  for (let at = 1; at < whole.length; at += 7) {
    if (at % 50 < 7) api.clock.pass(60_000);
    const call = new StreamClient(api);
    call.call.write(whole.subarray(0, at));
    await nextTurn();
    call.call.end(whole.subarray(at));
    assert.ok(await call.next('applied'));
  }
  assert.equal(api.table.problems()[0]?.message, 'ümläut');
});

test('a frame that is cut off has no effect', async () => {
  await using api = await RunningAdmin.start();
  const cut = text(header(1), route('a.test'));
  const reply = await api.post(cut, { headers: NDJSON });
  assert.equal(reply.status, 400);
  assert.match(reply.text, /in the middle of a frame/);
  const stream = new StreamClient(api).write(cut);
  await nextTurn();
  stream.close();
  assert.equal((await api.request('GET', '/routes')).text, '[]');
});

test('malformed lines are answered with 400 and the reason', async () => {
  await using api = await RunningAdmin.start();
  const cases: [string, RegExp][] = [
    ['', /contains no frame/],
    ['{\n', /not JSON/],
    [text(route('a.test')), /before any/],
    [text(header(1), header(2)), /before the previous one has ended/],
    [text(header(1), { nonsense: 1 }), /exactly one of the members/],
    [text(header(1), { ...route('a.test'), end: {} }), /exactly one of the members/],
    [text({ apply: { controller: 'c' } }), /apply: /],
    [text(header(1), { end: { revision: 2 } }), /a different revision/],
    [text(header(1), { route: 5 }), /has no domain/],
    [text(header(1), { remove: { domain: 'a', source: 'file' } }), /full frame/],
    [text(header(1), { settings: { http_port: 0 } }), /settings: /],
    [`${JSON.stringify(header(1))}\n"${'x'.repeat(MAX_LINE_BYTES + 1)}"\n`, /longer than 32 MB/],
  ];
  for (const [body, message] of cases) {
    const reply = await api.post(body, { headers: NDJSON });
    assert.equal(reply.status, 400, body.slice(0, 80));
    assert.match(reply.text, message);
  }
});

test('a bad route is rejected with a reason and keeps its last good version while the others are applied', async () => {
  await using api = await RunningAdmin.start();
  await api.post(frame(1, route('good.test'), route('bad.test')), { headers: NDJSON });
  const reply = await api.post(frame(2, route('good.test', { tls: true }), route('bad.test', { upstream: 'nonsense' })), {
    headers: NDJSON,
  });
  const { applied } = JSON.parse(reply.text) as {
    applied: { results: { domain: string; result: string; reason?: string }[]; removed: string[] };
  };
  assert.deepEqual(
    applied.results.map(({ domain, result }) => [domain, result]),
    [
      ['good.test', 'changed'],
      ['bad.test', 'rejected'],
    ],
  );
  assert.match(applied.results[1]?.reason ?? '', /upstream/);
  assert.deepEqual(applied.removed, []);
  assert.equal(api.table.find('bad.test')?.route.upstream, '127.0.0.1:80');
});

test('a stale epoch is answered with 409 and the current revision', async () => {
  await using api = await RunningAdmin.start();
  await api.post(text(header(5, { epoch: 9 }), { end: { revision: 5 } }), { headers: NDJSON });
  const reply = await api.post(text(header(6, { epoch: 8 }), { end: { revision: 6 } }), { headers: NDJSON });
  assert.equal(reply.status, 409);
  const { refused } = JSON.parse(reply.text) as { refused: { error: string; current: number } };
  assert.equal(refused.current, 5);
  assert.match(refused.error, /stale/);
});

test('a failed disk write is answered with 503 and nothing is applied', async () => {
  await using api = await RunningAdmin.start();
  api.table.apply = () => Promise.reject(new UnsavedError('database or disk is full'));
  const reply = await api.post(frame(1, route('a.test')), { headers: NDJSON });
  assert.equal(reply.status, 503);
  assert.deepEqual(JSON.parse(reply.text), { error: 'not saved: database or disk is full' });
});

test('an open stream accepts frame after frame, counts as one request, and receives changes made through the Admin API', async () => {
  await using api = await RunningAdmin.start();
  const stream = new StreamClient(api);
  for (let revision = 1; revision <= 80; revision++) {
    stream.write(frame(revision, route('a.test', { upstream: `127.0.0.1:${revision}` })));
    assert.equal((await stream.next('applied')).revision, revision);
  }
  assert.equal(stream.status, 200);
  assert.equal((await api.request('DELETE', '/routes/a.test')).status, 200);
  assert.deepEqual(await stream.next('routes'), { domain: 'a.test', change: 'removed', route: null });
  stream.close();
});

test('the first line of each stream lists the addresses this machine has at that moment', async () => {
  let addresses = ['10.0.0.7'];
  await using api = await RunningAdmin.start({ addresses: () => addresses });
  const first = new StreamClient(api).write(frame(1, route('a.test')));
  assert.deepEqual((await first.next('applied')).addresses, ['10.0.0.7']);
  first.write(frame(2, route('b.test')));
  assert.ok(!('addresses' in (await first.next('applied'))));
  addresses = ['10.0.0.7', '10.1.0.7'];
  const second = new StreamClient(api).write(frame(3, route('b.test')));
  assert.deepEqual((await second.next('applied')).addresses, addresses);
  for (const stream of [first, second]) stream.close();
});

test('POST /reload is sent to the controller that has a file; wait=true returns the outcome, and a cooldown follows', async () => {
  await using api = await RunningAdmin.start();
  const stream = new StreamClient(api).write(text(header(1, { reload: true }), route('a.test'), { end: { revision: 1 } }));
  await stream.next('applied');
  const waiting = api.request('POST', '/reload?wait=true');
  const { id } = await stream.next('reload');
  stream.write(text(header(2, { reload: true }), route('b.test'), { reload: { id } }, { end: { revision: 2 } }));
  const good = await waiting;
  assert.equal(good.status, 200);
  assert.deepEqual((JSON.parse(good.text) as { applied: object }).applied, { added: 1, changed: 0, removed: 1, unchanged: 0 });

  api.clock.pass(1_500);
  const soon = await api.request('POST', '/reload');
  assert.equal(soon.status, 429);
  assert.deepEqual(JSON.parse(soon.text), { error: 'reload too soon', retry_after: 4 });
  assert.equal(soon.headers['retry-after'], '4');
  api.clock.pass(3_500);
  const failing = api.request('POST', '/reload?wait=true');
  const second = await stream.next('reload');
  stream.write(
    text(header(2, { reload: true, based_on: 2 }), { reload: { id: second.id, errors: ['Sluicefile:1:1: no'] } }, { end: { revision: 2 } }),
  );
  const bad = await failing;
  assert.equal(bad.status, 422);
  assert.deepEqual(JSON.parse(bad.text), { error: 'reload failed', errors: ['Sluicefile:1:1: no'] });
  assert.equal((await api.request('POST', '/reload')).status, 429);

  api.clock.pass(5_000);
  const at = await api.request('POST', '/reload');
  assert.equal(at.status, 200);
  assert.deepEqual(JSON.parse(at.text), { message: 'config reload triggered' });
  stream.close();
});

test('the second stream of a controller ends its first, and leaves other controllers alone', async () => {
  await using api = await RunningAdmin.start();
  const other = new StreamClient(api).write(text(header(1, { controller: 'other', sources: ['docker'] }), { end: { revision: 1 } }));
  await other.next('applied');
  const first = new StreamClient(api).write(frame(1));
  await first.next('applied');
  const second = new StreamClient(api).write(frame(2));
  await second.next('applied');
  await until('the first stream to end', () => first.ended);
  assert.equal(other.ended, false);
  assert.equal(second.ended, false);
  for (const stream of [other, second]) stream.close();
});

test('blank lines every 20 s keep a stream alive; 60 s of silence end it', async () => {
  await using api = await RunningAdmin.start();
  const stream = new StreamClient(api).write(frame(1));
  await stream.next('applied');
  api.clock.pass(20_000);
  await until('a blank line', () => stream.blanks === 1);
  stream.write('\n');
  await nextTurn();
  api.clock.pass(55_000);
  await until('two more blank lines', () => stream.blanks === 3);
  assert.equal(stream.ended, false);
  api.clock.pass(70_000);
  await until('the end of a silent stream', () => stream.ended);
});

test('events are delivered as server-sent events', async () => {
  await using api = await RunningAdmin.start();
  const seen = await new Promise<string>((resolve, reject) => {
    const call = request({ socketPath: api.socketPath, path: '/events' }, (response) => {
      let all = '';
      assert.match(response.headers['content-type'] ?? '', /^text\/event-stream/);
      response.setEncoding('utf8').on('data', (piece: string) => {
        if (all === '') void api.post({ domain: 'a.test', upstream: 'a:1', tls: false });
        all += piece;
        if (!all.includes('"added":["a.test"]')) return;
        call.destroy();
        resolve(all);
      });
    });
    call.on('error', reject).end();
  });
  assert.match(seen, /event: routes\ndata: \{"generation":2,"added":\["a.test"\],"changed":\[\],"removed":\[\]\}\n\n/);
});
