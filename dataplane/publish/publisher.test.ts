import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { ListenError } from '../workers/worker-handle.ts';
import { ENTRY, insideOneWorker, WorkersFixture } from './testing/test-workers.ts';

const answering = (domain: string, body: string) => ({ domain, upstream: null, tls: false, respond: { status: 200, body } });
const WORD = 'new Int32Array(new SharedArrayBuffer(4))';
const WAIT = `Atomics.wait(${WORD}, 0, 0)`;
/** Only the end of its thread ends it. It leaves the processor to the other tests most of the time. */
const SPIN = `for (const word = ${WORD}; ; ) Atomics.wait(word, 0, 0, 5)`;

test('every worker serves a publication when its promise resolves', async () => {
  await using fixture = await WorkersFixture.start(3, [answering('a.test', 'first')]);
  for (let round = 0; round < 20; round++) {
    await fixture.add(answering('a.test', `round ${round}`), answering(`new-${round}.test`, 'new'));
    const answers = await Promise.all(Array.from({ length: 12 }, () => fixture.visit('a.test')));
    assert.deepEqual([...new Set(answers.map(({ text }) => text))], [`round ${round}`]);
    assert.equal((await fixture.visit(`new-${round}.test`)).status, 200);
  }
  await fixture.remove('a.test');
  const gone = await Promise.all(Array.from({ length: 12 }, () => fixture.visit('a.test')));
  assert.deepEqual([...new Set(gone.map(({ status }) => status))], [404]);
});

test('a worker that dies is restarted with everything published since', async () => {
  await using fixture = await WorkersFixture.start(1, [answering('old.test', 'old')]);
  await fixture.add(answering('new.test', 'new'));
  await insideOneWorker('process.exit(1)');
  await until('another worker', () => fixture.workers.serving === 1 && fixture.workers.restarts === 1);
  assert.equal((await fixture.visit('old.test')).text, 'old');
  assert.equal((await fixture.visit('new.test')).text, 'new');
  assert.deepEqual(fixture.changes, ['started', 'died', 'started']);
});

test('a restarted worker that cannot open its port is retried until it can', async () => {
  await using fixture = await WorkersFixture.start(1, [answering('a.test', 'here')]);
  await using taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { settings } = fixture.publisher.currentState();
  assert.ok(settings !== undefined);
  await fixture.publisher.publish({ settings: { ...settings, httpPort: (taken.address() as AddressInfo).port } });
  await insideOneWorker('process.exit(1)');
  await until('a few attempts', () => fixture.workers.restarts >= 3);
  assert.equal(fixture.workers.serving, 0);
  await fixture.publisher.publish({ settings });
  await until('a worker that serves', () => fixture.workers.serving === 1);
  assert.equal((await fixture.visit('a.test')).text, 'here');
});

test('a worker with a blocked event loop is replaced after 2 s while the others respond', async () => {
  await using fixture = await WorkersFixture.start(2, [answering('a.test', 'here')]);
  await insideOneWorker(SPIN);
  const begun = performance.now();
  await until('the silent worker to be replaced', () => fixture.changes.includes('replaced'));
  assert.ok(performance.now() - begun > 1_500, 'a worker that is only slow stays');
  await until('both to serve', () => fixture.workers.serving === 2);
  assert.equal((await fixture.visit('a.test')).text, 'here');
  assert.equal(fixture.ledger.inFlight.total(), 0);
});

test('a publication waits for a silent worker only until it is replaced', async () => {
  await using fixture = await WorkersFixture.start(2, [answering('a.test', 'old')]);
  await insideOneWorker(WAIT);
  await fixture.add(answering('a.test', 'new'));
  const answers = await Promise.all(Array.from({ length: 8 }, () => fixture.visit('a.test')));
  assert.deepEqual([...new Set(answers.map(({ text }) => text))], ['new']);
});

test('draining ends idle connections immediately and every worker within the given time', async () => {
  const fixture = await WorkersFixture.start(2, [answering('a.test', 'here')]);
  assert.equal((await fixture.visit('a.test')).status, 200);
  await fixture.workers.drain(5_000);
  assert.equal(fixture.workers.serving, 0);
  await assert.rejects(fixture.visit('a.test'), { code: 'ECONNREFUSED' });
});

test('a port in use by another process is reported, not retried', async () => {
  await using first = await WorkersFixture.start(1, []);
  await first.workers.stop();
  const taken = createServer().listen(first.port, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  try {
    const { createLedger } = await import('../ledger/ledger.ts');
    const { WorkerPool } = await import('../workers/worker-pool.ts');
    const { systemClock } = await import('../../shared/runtime/clock.ts');
    const workers = new WorkerPool({
      count: 1,
      entry: ENTRY,
      ledger: createLedger(2),
      hashKey: Buffer.alloc(16),
      countries: null,
      socketDir: null,
      clock: systemClock,
      log: first.log,
      state: () => first.publisher.currentState(),
      onReport: () => undefined,
      onTarget: () => undefined,
      onLost: () => undefined,
      onAccessLog: () => undefined,
      onCache: () => undefined,
      onAwaited: () => undefined,
      onKeyWanted: () => undefined,
      onBotClaimed: () => undefined,
      onChange: () => undefined,
    });
    await assert.rejects(workers.start(), (error) => error instanceof ListenError && error.code === 'EADDRINUSE');
    await workers.stop();
  } finally {
    taken.close();
  }
});

test('counters are collected from every worker on request', async () => {
  await using fixture = await WorkersFixture.start(3, [answering('a.test', 'here')]);
  for (let visit = 0; visit < 30; visit++) await fixture.visit('a.test', `/page-${visit % 3}`);
  await fixture.workers.collect();
  const domains = fixture.reports.flatMap(({ domains }) => domains).filter(({ host }) => host === 'a.test');
  assert.equal(
    domains.reduce((sum, { requests }) => sum + requests, 0),
    30,
  );
  assert.equal(new Set(domains.flatMap(({ visitors }) => visitors)).size, 1);
  const pages = domains.flatMap((domain) => domain.pages).filter(([path]) => path === '/page-0');
  assert.equal(
    pages.reduce((sum, [, views]) => sum + views, 0),
    10,
  );
});
