import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { until } from '../../../../shared/runtime/testing/until.ts';
import { LEASES_PATH } from '../testing/fake-objects.ts';
import { fakeCluster } from '../testing/watched.ts';
import { LeaseHolder } from './lease.ts';

const LEASE = 'sluice/the-lease';
type Spec = {
  readonly holderIdentity: string;
  readonly leaseTransitions: number;
  readonly renewTime: string;
  readonly leaseDurationSeconds: number;
};

/** Candidates for one lease, each with a clock of its own. */
async function electing(t: TestContext) {
  const { server, cluster } = await fakeCluster(t);
  const spec = () => server.get(LEASES_PATH, LEASE)?.spec as Spec | undefined;
  const candidate = (identity: string) => {
    const clock = new ManualClock();
    const stopping = new AbortController();
    const log = memoryLog();
    let acquired = 0;
    const lease = new LeaseHolder({
      ...{ cluster, name: 'the-lease', identity, clock, random: systemRandom, log },
      acquired: () => {
        acquired += 1;
      },
    });
    const running = lease.run(stopping.signal);
    const stop = () => {
      stopping.abort();
      return running;
    };
    t.after(stop);
    /** Advances the clocks, and waits for the response to every request. */
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        clock.pass(1_000);
        const { length } = server.requests;
        for (let round = 0; round < 20 && server.requests.length === length; round++) await turn();
        for (let round = 0; round < 20; round++) await turn();
      }
    };
    return { lease, clock, pass, stop, log, acquisitions: () => acquired };
  };
  return { server, spec, candidate };
}

test('the first candidate creates the lease and renews it', async (t) => {
  const { spec, candidate } = await electing(t);
  const one = candidate('one');
  await until('the lease', () => one.lease.isHolder);
  assert.partialDeepStrictEqual(spec(), { holderIdentity: 'one', leaseTransitions: 0, leaseDurationSeconds: 15 });
  const first = spec()?.renewTime;
  await until('a renewal', () => {
    one.clock.pass(500);
    return spec()?.renewTime !== first;
  });
  assert.equal(one.lease.isHolder, true);
  assert.equal(one.acquisitions(), 1);
});

test('another candidate waits until the lease has not changed for its duration by its own clock', async (t) => {
  const { spec, candidate } = await electing(t);
  const one = candidate('one');
  await until('the lease', () => one.lease.isHolder);
  const two = candidate('two');
  await two.pass(14);
  assert.equal(two.lease.isHolder, false);
  await until('the succession', () => {
    two.clock.pass(500);
    return two.lease.isHolder;
  });
  assert.partialDeepStrictEqual(spec(), { holderIdentity: 'two', leaseTransitions: 1 });
  // The first one learns it when it tries to renew.
  await until('the end of the first', () => {
    one.clock.pass(500);
    return !one.lease.isHolder;
  });
  await one.pass(10);
  assert.equal(spec()?.holderIdentity, 'two');
});

test('a holder that can’t renew is one no more after ten seconds, before another may be', async (t) => {
  const { server, candidate } = await electing(t);
  const one = candidate('one');
  await until('the lease', () => one.lease.isHolder);
  server.answer = () => ({ status: 503 });
  one.clock.pass(9_999);
  assert.equal(one.lease.isHolder, true);
  one.clock.pass(1);
  assert.equal(one.lease.isHolder, false);
  server.answer = () => undefined;
  await until('its return', () => {
    one.clock.pass(500);
    return one.lease.isHolder;
  });
});

test('a holder that stops releases the lease, which another one acquires at its next check', async (t) => {
  const { spec, candidate } = await electing(t);
  const one = candidate('one');
  await until('the lease', () => one.lease.isHolder);
  const two = candidate('two');
  await two.pass(5);
  await one.stop();
  assert.equal(spec()?.holderIdentity, '');
  await two.pass(5);
  await until('the succession', () => two.lease.isHolder);
});

test('a process with the same identity, as after a crash of its container, continues at once', async (t) => {
  const { server, candidate, spec } = await electing(t);
  server.put(LEASES_PATH, {
    metadata: { name: 'the-lease', namespace: 'sluice' },
    spec: { holderIdentity: 'pod-1', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z', leaseTransitions: 4 },
  });
  const one = candidate('pod-1');
  await until('the lease', () => one.lease.isHolder);
  assert.partialDeepStrictEqual(spec(), { holderIdentity: 'pod-1', leaseTransitions: 4 });
});

test('without permission for it, this is logged once and there is no holder', async (t) => {
  const { server, candidate } = await electing(t);
  server.answer = () => ({ status: 403, message: 'no leases for you' });
  const one = candidate('one');
  await until('several tries', () => {
    one.clock.pass(500);
    return server.requests.length > 3;
  });
  assert.equal(one.lease.isHolder, false);
  const warnings = one.log.lines.filter(({ level }) => level === 'warn');
  assert.equal(warnings.length, 1);
  assert.match(JSON.stringify(warnings), /no leases for you/);
});
