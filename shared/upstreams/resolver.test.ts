import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../runtime/testing/manual-clock.ts';
import { type LookUp, Resolver } from './resolver.ts';

/** A resolver whose answers the test gives explicitly. */
function byHand() {
  const clock = new ManualClock();
  const queries: { host: string; then: Parameters<LookUp>[1] }[] = [];
  const resolver = new Resolver(clock, (host, then) => queries.push({ host, then }));
  const answers: string[] = [];
  return {
    clock,
    queries,
    answers,
    resolver,
    resolve: (host = 'app'): void => resolver.resolve(host, (error, [address = '']) => answers.push(error?.code ?? address)),
    say: (...addresses: string[]): void => queries.shift()?.then(null, addresses),
    fail: (code: string): void => queries.shift()?.then(Object.assign(new Error(code), { code }), []),
  };
}

test('an IP address is not resolved', () => {
  const by = byHand();
  by.resolve('10.0.0.1');
  by.resolve('::1');
  assert.deepEqual([by.answers, by.queries.length], [['10.0.0.1', '::1'], 0]);
});

test('concurrent requests share one lookup, which is repeated after 30 s', () => {
  const by = byHand();
  by.resolve();
  by.resolve();
  assert.equal(by.queries.length, 1);
  by.say('10.0.0.1');
  by.clock.pass(29_999);
  by.resolve();
  assert.deepEqual(by.answers, ['10.0.0.1', '10.0.0.1', '10.0.0.1']);
  by.clock.pass(1);
  by.resolve();
  by.say('10.0.0.2');
  assert.equal(by.answers.at(-1), '10.0.0.2');
});

test('several addresses take turns, and continue with the next after one refused a connection', () => {
  const by = byHand();
  by.resolve();
  by.say('10.0.0.1', '10.0.0.2');
  by.resolver.forget('app');
  by.resolve();
  by.say('10.0.0.1', '10.0.0.2');
  by.resolve();
  assert.deepEqual(by.answers, ['10.0.0.1', '10.0.0.2', '10.0.0.1']);
});

test('while the resolver fails, the last answer is used without waiting for 10 minutes', () => {
  const by = byHand();
  by.resolve();
  by.say('10.0.0.1');
  by.clock.pass(30_000);
  by.resolve();
  by.fail('EAI_AGAIN');
  assert.deepEqual(by.answers, ['10.0.0.1', '10.0.0.1']);
  by.clock.pass(4_999);
  by.resolve();
  assert.equal(by.queries.length, 0, 'not queried more often than every 5 s');
  by.clock.pass(1);
  by.resolve();
  assert.deepEqual([by.answers.length, by.queries.length], [4, 1], 'no request waits for it');
  by.clock.pass(565_000);
  by.fail('EAI_AGAIN');
  by.resolve();
  by.fail('EAI_AGAIN');
  assert.deepEqual(by.answers.at(-1), 'EAI_AGAIN');
});

test('while the resolver is silent, the last answer is used, and only the first requests wait a moment for a new one', () => {
  const by = byHand();
  by.resolve();
  by.clock.pass(60_000);
  assert.deepEqual(by.answers, [], 'there is no last answer');
  by.say('10.0.0.1');
  by.clock.pass(30_000);
  by.resolve();
  by.resolve();
  by.clock.pass(499);
  assert.equal(by.answers.length, 1);
  by.clock.pass(1);
  assert.deepEqual(by.answers, ['10.0.0.1', '10.0.0.1', '10.0.0.1']);
  by.resolve();
  assert.deepEqual([by.answers.length, by.queries.length], [4, 1]);
  by.say('10.0.0.2');
  by.resolve();
  assert.deepEqual([by.answers.length, by.answers.at(-1)], [5, '10.0.0.2'], 'its answer is used once it comes');
  by.clock.pass(30_000);
  by.resolve();
  by.clock.pass(1_000);
  by.fail('ENOTFOUND');
  by.resolve();
  assert.deepEqual([by.answers.length, by.queries.length], [6, 1], 'a name that turns out to be gone is resolved again');
});

test('a resolver that is silent for longer than 10 minutes leaves nothing that is used', () => {
  const by = byHand();
  by.resolve();
  by.say('10.0.0.1');
  by.clock.pass(600_000);
  by.resolve();
  by.clock.pass(5_000);
  assert.equal(by.answers.length, 1);
  by.fail('EAI_AGAIN');
  assert.equal(by.answers.at(-1), 'EAI_AGAIN');
});

test('the first answer after a failure is used at once', () => {
  const by = byHand();
  by.resolve();
  by.say('10.0.0.1');
  by.clock.pass(30_000);
  by.resolve();
  by.fail('EAI_AGAIN');
  by.clock.pass(5_000);
  by.resolve();
  by.say('10.0.0.2');
  by.resolve();
  assert.deepEqual(by.answers, ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2']);
});

test('a name that no longer exists is dropped at once, because its address may belong to another', () => {
  const by = byHand();
  by.resolve();
  by.say('10.0.0.1');
  by.clock.pass(30_000);
  by.resolve();
  by.fail('ENOTFOUND');
  assert.deepEqual(by.answers, ['10.0.0.1', 'ENOTFOUND']);
});

test('a limited number of names is cached, the most recently used ones', () => {
  const by = byHand();
  for (let nth = 0; nth <= 10_000; nth++) {
    by.resolve(`app${nth}`);
    by.say('10.0.0.1');
  }
  by.resolve('app1');
  assert.equal(by.queries.length, 0);
  by.resolve('app0');
  assert.equal(by.queries.length, 1);
});
