import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import type { Alert } from '../../shared/wire/dashboard.ts';
import { AlertTimes } from './alert-times.ts';

const alert = (domain: string | null, message = 'no target', since: string | null = null): Alert => ({
  ...{ severity: 'error', code: 'pool_down', domain, subject: domain ?? 'data plane', message, action: 'Start it.', since },
});

class Fixture {
  readonly clock = new ManualClock();
  wrong: readonly Alert[];
  looks = 0;
  readonly times: AlertTimes;

  /** @param lasts how long a check takes (ms). */
  constructor(wrong: readonly Alert[] = [], lasts = 0) {
    this.wrong = wrong;
    const look = async (): Promise<readonly Alert[]> => {
      this.looks++;
      this.clock.pass(lasts);
      return this.wrong;
    };
    this.times = new AlertTimes(look, { clock: this.clock, log: { error: () => assert.fail('it could look') } });
    void this.times.watch();
  }

  async pass(ms: number): Promise<void> {
    await nextTurn();
    this.clock.pass(ms);
    await nextTurn();
  }

  get now(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

test('an alert with an unknown start has the time of the check that found it', async () => {
  const fixture = new Fixture([alert('a.test')]);
  await fixture.pass(10_000);
  fixture.wrong = [alert('a.test'), alert('b.test')];
  await fixture.pass(10_000);
  const begun = fixture.now;
  await fixture.pass(10_000);
  const { times } = fixture;
  assert.equal(times.since(alert('a.test')), null, 'it may have begun before the start');
  assert.equal(times.since(alert('b.test', 'for another reason by now')), begun);
  assert.equal(times.since(alert('c.test')), null, 'not looked at yet');
  assert.equal(times.since(alert('b.test', '', '2026-01-01T00:00:00.000Z')), '2026-01-01T00:00:00.000Z', 'it knows it itself');
});

test('an alert that ends and comes back gets a new start time', async () => {
  const fixture = new Fixture();
  fixture.wrong = [alert('a.test')];
  await fixture.pass(10_000);
  fixture.wrong = [];
  await fixture.pass(10_000);
  assert.equal(fixture.times.since(alert('a.test')), null);
  fixture.wrong = [alert('a.test')];
  await fixture.pass(10_000);
  assert.equal(fixture.times.since(alert('a.test')), fixture.now);
});

test('alerts without a domain are distinguished by their message', async () => {
  const fixture = new Fixture();
  await fixture.pass(10_000);
  fixture.wrong = [alert(null, 'one')];
  await fixture.pass(10_000);
  const [one, first] = [alert(null, 'one'), fixture.now];
  fixture.wrong = [one, alert(null, 'two')];
  await fixture.pass(10_000);
  assert.deepEqual([fixture.times.since(one), fixture.times.since(alert(null, 'two'))], [first, fixture.now]);
});

test('a check that takes long is followed by a long pause', async () => {
  const fixture = new Fixture([], 500);
  await fixture.pass(49_999);
  assert.equal(fixture.looks, 1);
  await fixture.pass(1);
  assert.equal(fixture.looks, 2);
});
