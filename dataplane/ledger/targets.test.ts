import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHECK_RESULT, EJECTED_SECS, FAILURES_TO_EJECT, Targets, targetKey } from './targets.ts';

const START = 1_700_000_000_000;
const WORKERS = 3;

test('consecutive failures take a target out for a while, and every thread sees it', () => {
  const buffer = Targets.buffer(WORKERS);
  const [one, other] = [new Targets(buffer, WORKERS), new Targets(buffer, WORKERS)];
  const slot = one.claim(targetKey('10.0.0.1:80', false), START);
  assert.equal(other.find(targetKey('10.0.0.1:80', false)), slot);
  for (let failure = 1; failure < FAILURES_TO_EJECT; failure++) assert.equal(one.failed(slot, START), false);
  assert.equal(other.ejected(slot, START), false);
  assert.equal(other.failed(slot, START), true);
  assert.equal(one.ejected(slot, START + 1), true);
  assert.equal(one.failed(slot, START + 1), false, 'it is out already');
  assert.equal(one.ejected(slot, START + (EJECTED_SECS + 1) * 1_000), false);
});

test('a target that is out when the clock is set back is tried again at once', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', true), START);
  for (let failure = 0; failure < FAILURES_TO_EJECT; failure++) targets.failed(slot, START);
  const before = START - 3_600_000;
  assert.deepEqual([targets.ejected(slot, START), targets.ejected(slot, before)], [true, false]);
  assert.equal(targets.tryAgain(slot, before, FAILURES_TO_EJECT, EJECTED_SECS), true);
  assert.deepEqual(
    [before, before + (EJECTED_SECS + 1) * 1_000].map((now) => targets.ejected(slot, now)),
    [true, false],
    'others wait for the result',
  );
});

test('a target that was full before the clock was set back lacks no places after that', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', true), START);
  targets.foundFull(slot, 1, START);
  assert.deepEqual(
    [START, START - 500, START + 5_000, START - 3_600_000].map((now) => targets.lacksPlaces(slot, now)),
    [true, true, false, false],
  );
});

test('a response makes a target healthy again and reports whether it had been out', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', true), START);
  assert.equal(targets.succeeded(slot, START), false);
  for (let failure = 0; failure < FAILURES_TO_EJECT; failure++) targets.failed(slot, START);
  assert.equal(targets.succeeded(slot, START), true);
  assert.equal(targets.backSince(slot), START);
  assert.equal(targets.ejected(slot, START), false);
  assert.equal(targets.failed(slot, START), false, 'the count starts again');
});

test('a target that was out is tried again by one request alone, whose success brings it back and whose failure takes it out', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
  assert.equal(targets.tryAgain(slot, START, 2, 5), true, 'it was never out');
  for (let failure = 0; failure < 2; failure++) targets.failed(slot, START, 2, 5);
  assert.equal(targets.ejected(slot, START + 4_999), true);
  const later = START + 5_001;
  assert.equal(targets.ejected(slot, later), false);
  assert.equal(targets.tryAgain(slot, later, 2, 5), true);
  assert.equal(targets.ejected(slot, later), true, 'others wait for its result');
  assert.equal(targets.failed(slot, later, 2, 5), false, 'it is out already');
  const again = later + 5_001;
  assert.equal(targets.tryAgain(slot, again, 2, 5), true);
  assert.equal(targets.succeeded(slot, again, 2), true);
  assert.equal(targets.ejected(slot, again), false);
});

test('a target that has been out for long enough is untried until it responds or passes a check, unless it was out for one client', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
  const out = (now: number, client: string | null = null): void => {
    for (let failure = 0; failure < 2; failure++) targets.failed(slot, now, 2, 5, client);
  };
  assert.equal(targets.untried(slot, START), false, 'it was never out');
  out(START);
  const later = START + 5_000;
  assert.deepEqual([targets.untried(slot, START + 4_999), targets.untried(slot, later)], [false, true]);
  targets.tryAgain(slot, later, 2, 5);
  assert.equal(targets.untried(slot, later), false, 'it is out while a request tries it');
  assert.equal(targets.untried(slot, later + 5_000), true, 'that request has not succeeded');
  targets.succeeded(slot, later + 6_000, 2);
  assert.equal(targets.untried(slot, later + 6_000), false);
  out(later + 7_000);
  assert.equal(targets.untried(slot, later + 12_000), true);
  targets.setCheckResult(slot, CHECK_RESULT.healthy, later + 12_000);
  assert.equal(targets.untried(slot, later + 12_000), false, 'it has passed a check');
  const other = targets.claim(targetKey('10.0.0.2:80', false), START);
  for (let failure = 0; failure < 2; failure++) targets.failed(other, START, 2, 5, '192.0.2.1');
  assert.equal(targets.untried(other, later), false, 'it has served other clients');
});

test('a target that was ejected by its rate of errors stays out although its last requests succeed', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
  targets.failed(slot, START);
  assert.equal(targets.eject(slot, START, 30), true);
  assert.equal(targets.eject(slot, START, 30), false);
  targets.failed(slot, START);
  assert.equal(targets.succeeded(slot, START), false);
  assert.equal(targets.ejected(slot, START + 29_000), true);
  assert.equal(targets.tryAgain(slot, START + 31_000, FAILURES_TO_EJECT, 30), true);
  assert.equal(targets.succeeded(slot, START + 31_000), true);
});

test('a target that is out for one client is out for all, which is reported, after a failure with another or before its request was sent', () => {
  for (const address of ['192.0.2.2', null]) {
    const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
    const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
    const failed = (client: string | null): boolean => targets.failed(slot, START, 2, 5, client);
    assert.deepEqual([failed('192.0.2.1'), failed('192.0.2.1'), failed('192.0.2.1')], [false, true, false]);
    assert.equal(targets.failsOneClient(slot), true);
    assert.deepEqual([failed(address), failed(address), failed('192.0.2.1')], [true, false, false]);
    assert.equal(targets.failsOneClient(slot), false);
  }
});

test('a target that is out for one client and is then taken out by its rate of errors is reported as out for all, once', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
  for (let failures = 0; failures < 3; failures++) targets.failed(slot, START, 3, 10, '192.0.2.1');
  assert.equal(targets.ejectedFor(slot, START, '192.0.2.2'), false);
  assert.deepEqual([targets.eject(slot, START, 30), targets.eject(slot, START, 30)], [true, false]);
  assert.equal(targets.ejectedFor(slot, START, '192.0.2.2'), true);
});

test('a target that fails requests of two clients in two threads at the same time is out for all', (t) => {
  const buffer = Targets.buffer(WORKERS);
  const [one, other] = [new Targets(buffer, WORKERS), new Targets(buffer, WORKERS)];
  const slot = one.claim(targetKey('10.0.0.1:80', false), START);
  const fail = (targets: Targets, client: string) => targets.failed(slot, START, FAILURES_TO_EJECT, EJECTED_SECS, client);
  fail(other, '192.0.2.2');
  one.succeeded(slot, START);
  const { add } = Atomics;
  let interrupted = false;
  const counting = t.mock.method(Atomics, 'add', (words: Int32Array, at: number, value: number) => {
    const before = add(words, at, value);
    if (!interrupted) {
      interrupted = true;
      fail(other, '192.0.2.2');
    }
    return before;
  });
  fail(one, '192.0.2.1');
  counting.mock.restore();
  assert.equal(fail(one, '192.0.2.1'), true);
  assert.equal(one.ejectedFor(slot, START, '192.0.2.3'), true);
});

test('no number of failures takes a target out if none is set', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
  for (let failure = 0; failure < 100; failure++) assert.equal(targets.failed(slot, START, 0), false);
});

test('requests in flight are summed over workers, without those of a dead worker', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  const slot = targets.claim(targetKey('10.0.0.1:80', false), START);
  for (const worker of [0, 1, 1, 2]) targets.begin(slot, worker);
  targets.end(slot, 2);
  assert.equal(targets.inFlight(slot), 3);
  targets.clearWorker(1);
  assert.equal(targets.inFlight(slot), 1);
});

test('the same address with and without TLS are two targets', () => {
  const targets = new Targets(Targets.buffer(WORKERS), WORKERS);
  assert.notEqual(targets.claim(targetKey('a:1', true), START), targets.claim(targetKey('a:1', false), START));
  assert.equal(targets.find(targetKey('b:1', false)), -1);
});

test('a target in use is never forgotten, however early it was claimed', () => {
  const targets = new Targets(Targets.buffer(1), 1);
  const key = (fingerprint: number) => ({ hash: 0, fingerprint });
  const busy = targets.claim(key(1), START);
  for (let fingerprint = 2; fingerprint <= 8; fingerprint++) targets.claim(key(fingerprint), START + 60_000);
  targets.used(busy, START + 120_000);
  targets.claim(key(9), START + 180_000);
  assert.equal(targets.find(key(1)), busy);
  assert.equal(targets.find(key(2)), -1);
});

test('every thread sees the result of a check, and it does not stay in the slot of a forgotten target', () => {
  const buffer = Targets.buffer(1);
  const [one, other] = [new Targets(buffer, 1), new Targets(buffer, 1)];
  const key = (fingerprint: number) => ({ hash: 0, fingerprint });
  const slot = one.claim(key(1), START);
  one.setCheckResult(slot, CHECK_RESULT.healthy, START);
  assert.equal(other.checkResult(slot), CHECK_RESULT.healthy);
  for (let fingerprint = 2; fingerprint <= 8; fingerprint++) one.claim(key(fingerprint), START + 60_000);
  assert.equal(one.claim(key(9), START + 120_000), slot);
  assert.equal(other.checkResult(slot), CHECK_RESULT.none);
});

test('the same address with a different id is a different target', () => {
  const names = [undefined, 'one', 'two'].map((id) => JSON.stringify(targetKey('a:1', false, id)));
  assert.equal(new Set(names).size, 3);
});
