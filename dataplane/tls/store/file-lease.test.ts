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

  take(name = 'issuer', ttlMs = 10_000): Promise<Lease | null> {
    return acquireLease(this.folder, name, ttlMs, { clock: this.clock, random: systemRandom });
  }

  async taken(): Promise<Lease> {
    return (await this.take()) ?? assert.fail('it is taken');
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

test('one at a time has it, and the next one once it is given back', async () => {
  using shared = new Shared();
  const lease = await shared.taken();
  assert.equal(await shared.take(), null);
  assert.notEqual(await shared.take('other'), null);
  await lease.release();
  assert.equal(await lease.renew(), false);
  await shared.taken();
});

test('a crashed owner loses it when its time is over, and cannot renew or release it any more', async () => {
  using shared = new Shared();
  const crashed = await shared.taken();
  shared.clock.pass(9_999);
  assert.equal(await shared.take(), null);
  shared.clock.pass(1);
  const next = await shared.taken();
  assert.equal(await crashed.renew(), false);
  await crashed.release();
  assert.equal(await shared.take(), null);
  assert.equal(await next.renew(), true);
});

test('an owner that renews in time keeps it', async () => {
  using shared = new Shared();
  const lease = await shared.taken();
  for (let times = 0; times < 5; times++) {
    shared.clock.pass(8_000);
    assert.equal(await lease.renew(), true);
    assert.equal(await shared.take(), null);
  }
  assert.deepEqual(readdirSync(shared.folder).length, 1);
});

test('of many that find a dead owner’s lock at the same time, one gets it', async () => {
  using shared = new Shared();
  for (let round = 0; round < 20; round++) {
    const takers = await Promise.all(Array.from({ length: 8 }, () => shared.take()));
    assert.equal(takers.filter((lease) => lease !== null).length, 1);
    shared.clock.pass(10_000);
  }
});

test('a lock that cannot be understood holds nobody up', async () => {
  using shared = new Shared();
  writeFileSync(join(shared.folder, 'issuer.7'), '{"owner":');
  await shared.taken();
  assert.deepEqual(readdirSync(shared.folder), ['issuer.8']);
});

test('what a crashed process held is free at once for the next one of its instance, and for nobody else', async () => {
  using shared = new Shared();
  const { clock } = shared;
  const take = (instance: string, pid: number, alive: boolean) =>
    acquireLease(shared.folder, 'issuer', 10_000, { clock, random: systemRandom, holder: { instance, pid }, alive: () => alive });
  assert.notEqual(await take('one', 7, true), null);
  assert.equal(await take('other', 8, false), null, 'another machine cannot know');
  assert.equal(await take('one', 8, true), null, 'it is still there, as while one process takes over from another');
  assert.notEqual(await take('one', 8, false), null);
  assert.notEqual(await take('one', 8, true), null, 'the first process of a container has the same number each time');
});

test('a renewal and a release at the same moment leave it free', async () => {
  using shared = new Shared();
  for (let round = 0; round < 10; round++) {
    const lease = await shared.taken();
    await Promise.all([lease.renew(), lease.release(), lease.renew()]);
  }
});
