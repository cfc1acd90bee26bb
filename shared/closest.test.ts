import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closest } from './closest.ts';

const WORDS = ['reverse_proxy', 'rate_limit', 'redir', 'header', 'handle', 'handle_path', 'log'];

describe('closest', () => {
  const MEANT: Record<string, string | undefined> = {
    revers_proxy: 'reverse_proxy',
    reverse_proxxy: 'reverse_proxy',
    reverseproxy: 'reverse_proxy',
    ratelimit: 'rate_limit',
    redri: 'redir',
    headers: 'header',
    handel: 'handle',
    handle_paht: 'handle_path',
    lgo: 'log',
    redir: 'redir',
    xyz: undefined,
    '': undefined,
    something_else_entirely: undefined,
    lxx: undefined,
  };
  for (const [typed, meant] of Object.entries(MEANT))
    it(`suggests ${meant ?? 'nothing'} for ${JSON.stringify(typed)}`, () => assert.equal(closest(typed, WORDS), meant));

  it('prefers the closest candidate, and the first of several', () => {
    assert.equal(closest('handlee', ['handles_', 'handle']), 'handle');
    assert.equal(closest('cat', ['bat', 'rat']), 'bat');
  });
  it('skips input that is much longer than every candidate', () => {
    // Comparing it would take practically forever.
    assert.equal(closest('x'.repeat(100_000_000), WORDS), undefined);
  });

  it('suggests nothing without candidates', () => assert.equal(closest('a', []), undefined));
});
