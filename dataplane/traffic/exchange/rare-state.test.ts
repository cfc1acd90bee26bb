import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RareState } from './rare-state.ts';

const accessors = Object.entries(Object.getOwnPropertyDescriptors(RareState.prototype)).filter(([, { set }]) => set !== undefined);

test('what one exchange sets is seen by no other one, before or after it', () => {
  assert.ok(accessors.length > 20);
  const earlier = new RareState();
  for (const [name, { get, set }] of accessors) {
    const one = new RareState();
    const other = new RareState();
    const usual: unknown = get?.call(one);
    const own = Symbol(name);
    set?.call(one, own);
    assert.equal(get?.call(one), own, name);
    for (const state of [earlier, other, new RareState()]) assert.equal(get?.call(state), usual, name);
    set?.call(one, usual);
    assert.equal(get?.call(one), usual, name);
  }
});

test('two exchanges with values of their own keep them apart', () => {
  const one = new RareState();
  const other = new RareState();
  one.user = 'alice';
  other.user = 'bob';
  one.authCookies = 'Set-Cookie: session=1\r\n';
  assert.deepEqual([one.user, one.authCookies], ['alice', 'Set-Cookie: session=1\r\n']);
  assert.deepEqual([other.user, other.authCookies], ['bob', '']);
});
