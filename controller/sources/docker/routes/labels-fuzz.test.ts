import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemSchema } from '../../../../shared/wire/apply.ts';
import { LABELS } from '../../labels/label-rules.ts';
import type { Container } from '../engine/container.ts';
import { fakeId } from '../testing/fake-container.ts';
import { sampleContainer, sampleSnapshot } from '../testing/sample-container.ts';
import type { EngineSnapshot, Translation } from './engine-snapshot.ts';
import { STAYS } from './site-reading.ts';
import { translate } from './translate.ts';

/** Each process uses another seed, which is part of the test's name. */
const SEED = Number(process.env.FUZZ_SEED ?? process.pid);
const WORLDS = 1_000;

type Random = (below: number) => number;

function seeded(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 22_695_477) + 1) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const pick = <T>(random: Random, choices: readonly [T, ...T[]]): T => choices[random(choices.length)] ?? choices[0];

const WORDS: readonly [string, ...string[]] = [
  'domain',
  ...LABELS.keys(),
  'header.X-A',
  'header.',
  'Domain',
  'prot',
  '',
  '__proto__',
  'a\nb',
  'x'.repeat(500),
];
const SITES = ['', 'api.', '__proto__.', 'a.b.', '.', 'ö\u2028.', 'header.'] as const;
const VALUES = [
  '',
  ' ',
  'a.example',
  'b.example, c.example',
  '*',
  '*.a.example',
  '80',
  '0',
  '99999',
  'off',
  'on',
  'true',
  'insecure',
  '10/s',
] as const;
const ODD = [
  '/up',
  '10s',
  '9e9d',
  'shop',
  'host',
  '\ud800',
  '\u0000',
  'ü'.repeat(9_000),
  '__proto__',
  '-1',
  'constructor',
  '{$X}',
] as const;

function someLabels(random: Random): Record<string, string> {
  const entries = Array.from({ length: random(8) }, () => [
    `sluice.${pick(random, SITES)}${pick(random, WORDS)}`,
    random(3) > 0 ? pick(random, VALUES) : pick(random, ODD),
  ]);
  return Object.fromEntries([...(random(2) === 0 ? [['sluice.domain', 'a.example']] : []), ...entries]);
}

const someContainer = (random: Random, number: number): Container =>
  sampleContainer(number, {
    labels: someLabels(random),
    name: pick(random, ['app', 'n'.repeat(2_000)]),
    exposedTcpPorts: pick(random, [[], [80], [80, 443]]),
    networks: pick(random, [
      [],
      [{ name: 'shop', id: 'shop-id', ipv4: '172.18.0.2', ipv6: 'fd00::2' }],
      [{ name: 'x', id: '', ipv4: '', ipv6: null }],
    ]),
    networkMode: pick(random, ['shop', 'host', 'none', 'container:x']),
    status: pick(random, ['running', 'running', 'paused', 'exited', 'restarting']),
    health: pick(random, ['none', 'starting', 'healthy', 'unhealthy']),
  });

function someWorld(random: Random): EngineSnapshot {
  const containers = Array.from({ length: random(5) }, (_, at) => someContainer(random, at + 1));
  const shop = { kind: 'networks', ids: new Set(['shop-id']), names: ['shop'], container: 'proxy', dataplanes: new Set<string>() } as const;
  return sampleSnapshot(containers, {
    draining: new Set(random(3) === 0 ? [fakeId(1)] : []),
    reach: pick<EngineSnapshot['reach']>(random, [{ kind: 'host' }, { kind: 'unknown' }, shop]),
    addresses: pick(random, ['auto', 'container', 'published']),
    network: pick(random, [null, 'shop']),
  });
}

const bytesOf = (discovered: Translation): string => JSON.stringify(discovered, (_, value) => (value instanceof Map ? [...value] : value));

test(`arbitrary labels: nothing throws, problems are one line each, a domain has one route, and equal snapshots give equal bytes (FUZZ_SEED=${SEED})`, () => {
  const random = seeded(SEED);
  let routed = 0;
  let refused = 0;
  let stayed = 0;
  let lastGood: EngineSnapshot['lastGood'] = new Map();
  for (let round = 0; round < WORLDS; round++) {
    const snapshot = { ...someWorld(random), lastGood, now: round * 60_000 };
    const found = translate(snapshot);
    assert.equal(bytesOf(found), bytesOf(translate(structuredClone(snapshot))));
    const { routes, problems, readings } = found;
    lastGood = found.lastGood;
    assert.equal(new Set(routes.map(({ domain }) => domain)).size, routes.length);
    for (const problem of problems) {
      assert.doesNotMatch(problem.message, /[\p{Cc}\u2028\u2029]/u);
      problemSchema.parse({ ...problem, since: '2026-01-01T00:00:00Z' });
    }
    for (const { origin, change } of readings) assert.ok(origin.startsWith('container ') && change !== '');
    routed += routes.length;
    refused += problems.length;
    stayed += problems.filter(({ message }) => message.endsWith(STAYS)).length;
  }
  assert.ok(routed > WORLDS / 4 && refused > WORLDS / 4 && stayed > 0, `${routed} routes, ${refused} problems, ${stayed} stayed`);
});
