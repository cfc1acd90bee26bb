import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../engine/container.ts';
import { sampleContainer, sampleSnapshot } from '../testing/sample-container.ts';
import type { EngineSnapshot, Translation } from './engine-snapshot.ts';
import { FORGOTTEN_MS } from './last-good.ts';
import { translate } from './translate.ts';

type Labels = Record<string, string>;
const GOOD = { 'sluice.domain': 'a.example', 'sluice.rate_limit': '10/s', 'sluice.port': '3000' };
const BAD = { ...GOOD, 'sluice.rate_limit': 'plenty' };
const of = (labels: Labels, more: Partial<Container> = {}) => ({ labels, name: 'web', ...more });

/** Applies snapshots one after the other, each with what was remembered from the previous one. */
function discovery() {
  let lastGood: EngineSnapshot['lastGood'] = new Map();
  return (containers: readonly Container[], more: Partial<EngineSnapshot> = {}): Translation => {
    const found = translate(sampleSnapshot(containers, { lastGood, ...more }));
    lastGood = found.lastGood;
    return found;
  };
}

/** `a.example 10/s 172.18.0.2:3000` for each route. */
const routesOf = ({ routes }: Translation): string[] =>
  routes.map(({ domain, rate_limit_rps, upstreams }) =>
    [domain, rate_limit_rps === null ? 'no limit' : `${rate_limit_rps}/s`, ...upstreams.map(({ address }) => address)].join(' '),
  );

const COMPOSE = { composeProject: 'shop', composeService: 'web' };

for (const [claim, first, second, routes] of [
  ['of the same name', of(GOOD), of(BAD), ['a.example 10/s 172.18.0.2:3000']],
  ['of the same service, with another name', of(GOOD, COMPOSE), of(BAD, { ...COMPOSE, name: 'x' }), ['a.example 10/s 172.18.0.2:3000']],
  ['of another name', of(GOOD), of(BAD, { name: 'x' }), []],
  ['of another service and the same name', of(GOOD, COMPOSE), of(BAD, { ...COMPOSE, composeService: 'x' }), []],
  ['of another project', of(GOOD, COMPOSE), of(BAD, { ...COMPOSE, composeProject: 'x' }), []],
] as const)
  test(`a site with an error keeps its last good version, at its new address, in a container ${claim}: ${routes.length > 0 ? 'yes' : 'no'}`, () => {
    const next = discovery();
    assert.deepEqual(routesOf(next([sampleContainer(1, first)])), ['a.example 10/s 172.18.0.1:3000']);
    assert.deepEqual(routesOf(next([sampleContainer(2, second)])), routes);
  });

for (const [claim, labels, routes] of [
  ['a bad port: the last good one', { ...GOOD, 'sluice.port': 'http' }, ['a.example 10/s 172.18.0.2:3000']],
  ['a new port beside a mistake: the new one', { ...BAD, 'sluice.port': '4000' }, ['a.example 10/s 172.18.0.2:4000']],
  ['no port any more beside a mistake: the one that it exposes', { ...BAD, 'sluice.port': undefined }, ['a.example 10/s 172.18.0.2:80']],
  ['a bad domain: the last good one', { ...GOOD, 'sluice.domain': '-' }, ['a.example 10/s 172.18.0.2:3000']],
  ['an empty domain: the last good one', { ...GOOD, 'sluice.domain': '' }, ['a.example 10/s 172.18.0.2:3000']],
  ['another domain beside a mistake: the last good one', { ...BAD, 'sluice.domain': 'b.example' }, ['a.example 10/s 172.18.0.2:3000']],
  ['no domain any more: nothing', { ...GOOD, 'sluice.domain': undefined }, []],
  ['the mistake in a site that is new: nothing of it', { ...GOOD, 'sluice.api.domain': '-' }, ['a.example 10/s 172.18.0.2:3000']],
  ['the mistake in another name of the site: nothing', { 'sluice.api.domain': 'a.example', 'sluice.api.hold': 'x' }, []],
] as const)
  test(`the effect of an error on a site that was valid before: ${claim}`, () => {
    const next = discovery();
    next([sampleContainer(1, of(GOOD))]);
    const given = Object.fromEntries(Object.entries(labels).filter((label): label is [string, string] => label[1] !== undefined));
    assert.deepEqual(routesOf(next([sampleContainer(2, of(given))])), routes);
  });

test('reports the error for each affected domain, and that the site stays; the reading has both, and the address', () => {
  const next = discovery();
  next([sampleContainer(1, of(GOOD))]);
  const { problems, readings } = next([sampleContainer(2, of({ ...BAD, 'sluice.domain': 'b.example' }))]);
  const mistake = /^sluice\.rate_limit "plenty": .*; the form is sluice\.rate_limit=<n>\/s\|m\|h; the site keeps its last good version$/;
  assert.deepEqual(
    problems.map(({ code, domain, origin }) => [code, domain, origin]),
    [
      ['bad_label', 'b.example', 'container web (000000000002)'],
      ['bad_label', 'a.example', 'container web (000000000002)'],
    ],
  );
  for (const { message } of problems) assert.match(message, mistake);
  const [reading] = readings;
  assert.partialDeepStrictEqual(reading, { domains: ['a.example'], address: '172.18.0.2:3000', accepted: { holds: false } });
  assert.match(reading?.accepted.reason ?? '', mistake);
  assert.equal(reading?.resolved.holds, true);
  assert.match(reading?.change ?? '', /^correct the labels sluice\.\*/);
});

test('a new site with an error is not routed, and no earlier version is mentioned', () => {
  const { routes, problems } = discovery()([sampleContainer(1, of(BAD))]);
  assert.deepEqual(routes, []);
  assert.doesNotMatch(problems[0]?.message ?? 'stays', /stays/);
});

test('a correction is applied at once, and becomes the last good version', () => {
  const next = discovery();
  next([sampleContainer(1, of(GOOD))]);
  next([sampleContainer(2, of(BAD))]);
  const corrected = next([sampleContainer(3, of({ ...GOOD, 'sluice.rate_limit': '30/s' }))]);
  assert.deepEqual([routesOf(corrected), corrected.problems], [['a.example 30/s 172.18.0.3:3000'], []]);
  assert.deepEqual(routesOf(next([sampleContainer(4, of(BAD))])), ['a.example 30/s 172.18.0.4:3000']);
});

test('replicas recreated one by one with an error all stay in the pool', () => {
  const next = discovery();
  const replica = (number: number, labels: Labels) => sampleContainer(number, { ...COMPOSE, labels });
  next([replica(1, GOOD), replica(2, GOOD)]);
  assert.deepEqual(routesOf(next([replica(2, GOOD), replica(3, BAD)])), ['a.example 10/s 172.18.0.2:3000 172.18.0.3:3000']);
  assert.deepEqual(routesOf(next([replica(3, BAD), replica(4, BAD)])), ['a.example 10/s 172.18.0.3:3000 172.18.0.4:3000']);
});

test('the labels of a remaining replica count, not those of a removed one', () => {
  const next = discovery();
  const replica = (number: number, labels: Labels) => sampleContainer(number, { ...COMPOSE, labels });
  next([replica(1, GOOD), replica(2, { ...GOOD, 'sluice.rate_limit': '20/s' })]);
  next([replica(1, GOOD), replica(3, BAD)]);
  assert.deepEqual(routesOf(next([replica(3, BAD)])), ['a.example 10/s 172.18.0.3:3000']);
});

test('a domain dropped from the labels goes to another container that requests it with valid labels', () => {
  const moved = { ...BAD, 'sluice.domain': 'b.example' };
  const other = sampleContainer(3, { name: 'other' });
  for (const [labels, addresses] of [
    [moved, ['a.example no limit 172.18.0.3:80']],
    [BAD, ['a.example 10/s 172.18.0.2:3000 172.18.0.3:80']],
    [{ ...moved, 'sluice.api.domain': 'a.example' }, ['a.example no limit 172.18.0.2:80 172.18.0.3:80']],
  ] as const) {
    const next = discovery();
    next([sampleContainer(1, of(GOOD))]);
    assert.deepEqual(routesOf(next([sampleContainer(2, of(labels)), other])), addresses);
  }
});

test('a site is remembered for ten minutes after its last container is removed, however long that ran', () => {
  for (const [gone, routes] of [
    [FORGOTTEN_MS - 1, ['a.example 10/s 172.18.0.2:3000']],
    [FORGOTTEN_MS, []],
  ] as const) {
    const next = discovery();
    next([sampleContainer(1, of(GOOD))], { now: 1_000 });
    next([sampleContainer(1, of(GOOD))], { now: 2_000 + 10 * FORGOTTEN_MS });
    next([], { now: 3_000 + 20 * FORGOTTEN_MS });
    next([], { now: 4_000 + 20 * FORGOTTEN_MS });
    const { lastGood, ...found } = next([sampleContainer(2, of(BAD))], { now: 3_000 + 20 * FORGOTTEN_MS + gone });
    assert.deepEqual([routesOf({ lastGood, ...found }), lastGood.size], [routes, routes.length]);
  }
});

test('a site left out by a valid version is forgotten, and so are removed containers', () => {
  const next = discovery();
  const api = { 'sluice.api.domain': 'b.example', 'sluice.api.port': '81' };
  next([sampleContainer(1, of({ ...GOOD, ...api }))]);
  next([sampleContainer(2, of(GOOD))]);
  assert.deepEqual(routesOf(next([sampleContainer(3, of({ ...GOOD, ...api, 'sluice.api.hold': 'x' }))])), [
    'a.example 10/s 172.18.0.3:3000',
  ]);
  assert.equal(next([], { now: 1_000 }).lastGood.size, 1);
  assert.equal(next([], { now: 1_000 + FORGOTTEN_MS }).lastGood.size, 0);
});

test('a stopped container is remembered as long as it exists, but not routed', () => {
  const next = discovery();
  next([sampleContainer(1, of(GOOD))]);
  next([sampleContainer(2, of(BAD, { status: 'exited' }))], { now: 1_000 });
  const stopped = next([sampleContainer(2, of(BAD, { status: 'exited' }))], { now: 10 * FORGOTTEN_MS });
  assert.deepEqual([routesOf(stopped), stopped.problems], [[], []]);
  assert.deepEqual(routesOf(next([sampleContainer(2, of(BAD))], { now: 20 * FORGOTTEN_MS })), ['a.example 10/s 172.18.0.2:3000']);
});
