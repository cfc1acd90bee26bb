import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import type { BotClaim, BotVerdict } from '../traffic/protocol.ts';
import { VerifiedBots } from './verified-bots.ts';

class Fixture {
  readonly clock = new ManualClock();
  readonly replies: (readonly [verdict: BotVerdict, worker: number | null])[] = [];
  readonly looked: string[] = [];
  answer: (claim: BotClaim) => Promise<boolean | null> = async () => true;
  readonly bots = new VerifiedBots({
    clock: this.clock,
    random: { fraction: Math.random },
    lookUp: (claim) => {
      this.looked.push(claim.address);
      return this.answer(claim);
    },
    reply: (verdict, worker) => this.replies.push([verdict, worker]),
  });

  async claim(address: string, worker = 1): Promise<void> {
    this.bots.claimed(worker, { bot: 'googlebot', address });
    await nextTurn();
  }
}

test('an address is looked up once, and every worker hears of it', async () => {
  for (const [found, validMs] of [
    [true, 86_400_000],
    [false, 3_600_000],
    [null, 300_000],
  ] as const) {
    const fixture = new Fixture();
    fixture.answer = async () => found;
    await Promise.all([fixture.claim('192.0.2.1'), fixture.claim('192.0.2.1', 2)]);
    const until = fixture.clock.now() + validMs;
    const verdict = { bot: 'googlebot', address: '192.0.2.1', verified: found === true, until };
    assert.deepEqual(fixture.replies, [[verdict, null]]);
    await fixture.claim('192.0.2.1', 3);
    assert.deepEqual(fixture.replies.at(-1), [verdict, 3], 'a worker that has not heard of it');
    fixture.clock.pass(validMs);
    await fixture.claim('192.0.2.1');
    assert.equal(fixture.looked.length, 2);
  }
});

test('forged addresses are looked up at a bounded rate, and one that is real gets its turn among them', async () => {
  const fixture = new Fixture();
  const held: (() => void)[] = [];
  let open = 0;
  let most = 0;
  fixture.answer = ({ address }) => {
    most = Math.max(most, ++open);
    return new Promise((resolve) => held.push(() => resolve(open-- > 0 && address === '66.249.66.1')));
  };
  for (let nth = 0; nth < 10_000; nth++)
    fixture.bots.claimed(1, { bot: 'googlebot', address: `198.${18 + (nth >> 16)}.${(nth >> 8) & 255}.${nth & 255}` });
  assert.equal(most, 16);
  for (let second = 0; second < 30; second++) {
    fixture.bots.claimed(1, { bot: 'googlebot', address: '66.249.66.1' });
    for (let turn = 0; turn < 3; turn++) {
      for (const release of held.splice(0)) release();
      await nextTurn();
    }
    fixture.clock.pass(1_000);
  }
  assert.ok(fixture.looked.length <= 31 * 20, `${fixture.looked.length} in 30 s`);
  assert.ok(fixture.replies.some(([{ address, verified }]) => verified && address === '66.249.66.1'));
});

test('forged addresses do not make it forget those that are verified', async () => {
  const fixture = new Fixture();
  await fixture.claim('66.249.66.1');
  fixture.answer = async () => false;
  for (let nth = 0; nth < 9_000; nth++) {
    await fixture.claim(`198.18.${nth >> 8}.${nth & 255}`);
    if (nth % 20 === 19) fixture.clock.pass(1_000);
  }
  await fixture.claim('66.249.66.1', 2);
  assert.ok(fixture.replies.some(([{ verified }, worker]) => verified && worker === 2));
});

test('private addresses are not search engines, and are never looked up', async () => {
  const fixture = new Fixture();
  await fixture.claim('10.0.0.1');
  assert.deepEqual([fixture.looked.length, fixture.replies[0]?.[0].verified], [0, false]);
});
