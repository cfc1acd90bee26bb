import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute } from '../../route.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { underAttackDirective } from './directive.ts';

const API = { name: '@api', path: ['/api/*'] };

function read(head: string, ...lines: string[]) {
  const { context, mistakes } = directiveContext({ conditionFor: (_, matcher) => (matcher.text === '@api' ? API : undefined) });
  const part: Parameters<typeof underAttackDirective.read>[1] = {};
  const block = lines.length > 0 ? blockOf(...lines) : null;
  underAttackDirective.read({ ...line(`under_attack ${head}`), block }, part, context, null);
  return { part, mistakes };
}

test('it is on, off or automatic, with its options', () => {
  assert.deepEqual(read('on'), { part: { under_attack: true }, mistakes: [] });
  assert.deepEqual(read('off').part, { under_attack: false });
  assert.deepEqual(read('auto 500/s', 'except @api', 'difficulty 18', 'clearance 6h'), {
    part: { under_attack: false, challenge: { auto_rps: 500, except: [API], difficulty: 18, clearance_secs: 21_600 } },
    mistakes: [],
  });
});

test('search engines can be all, none or some', () => {
  for (const [line, bots] of [
    ['bots on', undefined],
    ['bots off', []],
    ['bots googlebot bingbot googlebot', ['googlebot', 'bingbot']],
  ] as const)
    assert.deepEqual(read('on', line), { part: { under_attack: true, ...(bots && { challenge: { bots } }) }, mistakes: [] });
});

for (const [head, lines, mistake] of [
  ['onn', [], 'under_attack "onn" (did you mean "on"?)'],
  ['yes', [], 'under_attack "yes": write on, off or auto <n>/s'],
  ['auto', [], 'auto needs the rate at which it begins: write under_attack auto <n>/s'],
  ['auto 5/m', [], 'auto "5/m": write the rate per second, as in 500/s'],
  ['auto lots', [], 'auto "lots": write a rate as <n>/s, <n>/m or <n>/h, for example 10/s'],
  ['on 5/s', [], '"5/s" is one argument too many: write under_attack on'],
  ['on', ['except /api'], 'except "/api": write the name of a matcher, as in @api path /api/*'],
  ['on', ['except'], 'except is missing an argument: write except @<name> [@<name> …]'],
  ['on', ['bots'], 'bots is missing an argument: write bots on|off|<name> [<name> …]'],
  ['on', ['bots off bingbot'], '"bingbot" is one argument too many: write bots off'],
  ['on', ['bots googelbot'], 'bots "googelbot" (did you mean "googlebot"?)'],
  ['on', ['difficulty 30'], 'difficulty "30": a number from 8 to 24; each more doubles the work'],
  ['on', ['clearance 10s'], 'clearance "10s": 60s at least'],
  ['on', ['clearence 1h'], 'under_attack has no "clearence" (did you mean "clearance"?)'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => assert.deepEqual(read(head, ...lines).mistakes, [mistake]));

test('a route accepts it with its options in their bounds', () => {
  const withChallenge = (challenge: object) =>
    parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, under_attack: true, challenge }).ok;
  assert.ok(withChallenge({}));
  assert.ok(withChallenge({ auto_rps: 100, difficulty: 24, clearance_secs: 60, except: [API] }));
  for (const challenge of [
    { auto_rps: 0 },
    { difficulty: 7 },
    { difficulty: 25 },
    { clearance_secs: 1 },
    { except: [{}] },
    { bots: ['evilbot'] },
  ])
    assert.equal(withChallenge(challenge), false, JSON.stringify(challenge));
});
