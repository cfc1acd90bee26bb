import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import type { Lease } from './cert-store.ts';
import { acquireLease } from './file-lease.ts';

class Shared {
  readonly folder = mkdtempSync(join(tmpdir(), 'lease-'));
  readonly clock = new ManualClock();

  acquire(name = 'issuer', ttlMs = 10_000): Promise<Lease | null> {
    return acquireLease(this.folder, name, ttlMs, { clock: this.clock, random: systemRandom });
  }

  async mustAcquire(): Promise<Lease> {
    return (await this.acquire()) ?? assert.fail('it is taken');
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

test('one process at a time holds the lease, and the next one gets it after a release', async () => {
  using shared = new Shared();
  const lease = await shared.mustAcquire();
  assert.equal(await shared.acquire(), null);
  assert.notEqual(await shared.acquire('other'), null);
  await lease.release();
  assert.equal(await lease.renew(), false);
  await shared.mustAcquire();
});

test('a crashed owner loses the lease when it expires, and can no longer renew or release it', async () => {
  using shared = new Shared();
  const crashed = await shared.mustAcquire();
  shared.clock.pass(9_999);
  assert.equal(await shared.acquire(), null);
  shared.clock.pass(1);
  const next = await shared.mustAcquire();
  assert.equal(await crashed.renew(), false);
  await crashed.release();
  assert.equal(await shared.acquire(), null);
  assert.equal(await next.renew(), true);
});

test('an owner that renews in time keeps the lease', async () => {
  using shared = new Shared();
  const lease = await shared.mustAcquire();
  for (let times = 0; times < 5; times++) {
    shared.clock.pass(8_000);
    assert.equal(await lease.renew(), true);
    assert.equal(await shared.acquire(), null);
  }
  assert.deepEqual(readdirSync(shared.folder).length, 1);
});

test('of many processes that find an expired lock at the same time, exactly one gets it', async () => {
  using shared = new Shared();
  for (let round = 0; round < 20; round++) {
    const attempts = await Promise.all(Array.from({ length: 8 }, () => shared.acquire()));
    assert.equal(attempts.filter((lease) => lease !== null).length, 1);
    shared.clock.pass(10_000);
  }
});

test('a malformed lock counts as free', async () => {
  using shared = new Shared();
  writeFileSync(join(shared.folder, 'issuer.7'), '{"owner":');
  await shared.mustAcquire();
  assert.deepEqual(readdirSync(shared.folder), ['issuer.8']);
});

test('the lease of a crashed process is immediately free for the next process of its instance, and for no other', async () => {
  using shared = new Shared();
  const { clock } = shared;
  const acquire = (instance: string, pid: number, alive: boolean) =>
    acquireLease(shared.folder, 'issuer', 10_000, { clock, random: systemRandom, holder: { instance, pid }, alive: () => alive });
  assert.notEqual(await acquire('one', 7, true), null);
  assert.equal(await acquire('other', 8, false), null, 'another machine cannot know');
  assert.equal(await acquire('one', 8, true), null, 'it is still there, as while one process takes over from another');
  assert.notEqual(await acquire('one', 8, false), null);
  assert.notEqual(await acquire('one', 8, true), null, 'the first process of a container has the same number each time');
});

test('a renewal and a release at the same moment leave the lease free', async () => {
  using shared = new Shared();
  for (let round = 0; round < 10; round++) {
    const lease = await shared.mustAcquire();
    await Promise.all([lease.renew(), lease.release(), lease.renew()]);
  }
});

test('a lease of a crashed owner from before the time of day was set back is free', async () => {
  using shared = new Shared();
  await shared.mustAcquire();
  shared.clock.jump(-365 * 86_400_000);
  const next = await shared.mustAcquire();
  assert.equal(await shared.acquire(), null);
  shared.clock.jump(-5_000);
  assert.equal(await shared.acquire(), null, 'clocks may differ a little');
  assert.equal(await next.renew(), true);
});
