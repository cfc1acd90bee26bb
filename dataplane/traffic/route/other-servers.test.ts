import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Condition } from '../../../shared/condition.ts';
import { normalizedPath } from '../../../shared/values/path.ts';
import { compileCondition, type MatchedRequest } from '../match/condition.ts';
import { compilePattern } from '../match/pattern.ts';
import { LONGEST_READ, type Readings, readingsOf } from '../match/readings.ts';
import { MAX_SEGMENTS_READ } from '../match/segments.ts';
import { evaluatorForCondition, evaluatorForPattern } from '../match/verdict.ts';

/** One step of how some server reads a path. Characters above 0x7f are bytes. */
type Step = (path: string) => string;

const decodedOnce: Step = (path) => path.replace(/%([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
const decodedUnreserved: Step = (path) =>
  path.replace(/%([0-9A-F]{2})/gi, (sent, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\w.~-]/.test(char) ? char : sent;
  });
/** Like IIS 5 and old Java decoders: any bits of an overlong form. */
const laxUtf8: Step = (path) =>
  path.replace(/([\xc0\xc1])([\x80-\xbf])|\xe0([\x80\x81])([\x80-\xbf])/g, (_, a?: string, b?: string, c?: string, d?: string) =>
    String.fromCharCode((((a ?? c ?? '').charCodeAt(0) & 1) << 6) | ((b ?? d ?? '').charCodeAt(0) & 0x3f)),
  );
const compatible: Step = (path) => {
  try {
    return Buffer.from(Buffer.from(path, 'latin1').toString('utf8').normalize('NFKC')).toString('latin1');
  } catch (error) {
    if (error instanceof RangeError) return path;
    throw error;
  }
};
const backslashes: Step = (path) => path.replaceAll('\\', '/');
/** Tomcat and Jetty: parameters of each segment. */
const withoutParameters: Step = (path) => path.replace(/;[^/]*/g, '');
/** Old Express, Rails: everything after the first semicolon. */
const withoutQuery: Step = (path) => path.replace(/[?#].*$/s, '');
const merged: Step = (path) => path.replace(/\/{2,}/g, '/');
/** Windows: spaces and dots at the end of a name, and alternate data streams. */
const trimmed: Step = (path) =>
  path
    .split('/')
    .map((name) => (/^\.\.?$/.test(name) ? name : name.replace(/[. ]+$/, '')))
    .join('/');
const withoutStreams: Step = (path) => path.replace(/:[:$][^/]*/g, '');
const stripped: Step = (path) => path.replace(/[\t\n\r]/g, '');
const blanksTrimmed: Step = (path) =>
  path
    .split('/')
    .map((name) => name.trim())
    .join('/');
/** RFC 3986 5.2.4. */
const withoutDots: Step = (path) => {
  const kept: string[] = [];
  const parts = path.split('/').slice(1);
  parts.forEach((part, index) => {
    if (part === '..') kept.pop();
    else if (part !== '.') kept.push(part);
    if (index === parts.length - 1 && (part === '.' || part === '..')) kept.push('');
  });
  return `/${kept.join('/')}`;
};

const SERVERS: Readonly<Record<string, readonly Step[]>> = {
  // No server is assumed to read an escaped letter as anything but the letter.
  literal: [decodedUnreserved],
  nginx: [withoutQuery, decodedOnce, merged, withoutDots],
  'nginx, merge_slashes off': [decodedOnce, withoutDots],
  Apache: [withoutDots, decodedOnce, merged, withoutDots],
  Tomcat: [withoutParameters, decodedOnce, merged, withoutDots],
  'Tomcat, ALLOW_BACKSLASH': [withoutParameters, decodedOnce, backslashes, merged, withoutDots],
  Jetty: [decodedOnce, withoutParameters, withoutDots],
  Spring: [decodedOnce, withoutParameters, merged],
  IIS: [decodedOnce, backslashes, merged, withoutDots, trimmed, withoutStreams],
  'IIS 5': [decodedOnce, laxUtf8, decodedOnce, laxUtf8, backslashes, withoutDots, trimmed],
  Express: [decodedUnreserved],
  'Express, decoding parameters': [decodedOnce],
  'a file server of Node': [decodedOnce, withoutDots],
  'new URL() of Node': [decodedUnreserved, backslashes, stripped, withoutDots],
  'decoded, then new URL()': [decodedOnce, withoutQuery, backslashes, stripped, withoutDots],
  PHP: [decodedOnce, blanksTrimmed],
  'decoded twice': [decodedOnce, decodedOnce, withoutDots],
  'decoded twice, with parameters': [decodedOnce, withoutParameters, decodedOnce, withoutDots],
  'decoded twice behind Apache': [withoutDots, decodedOnce, merged, decodedOnce, withoutDots],
  'decoded three times': [decodedOnce, decodedOnce, decodedOnce, backslashes, merged, withoutDots],
  'slashes only': [decodedUnreserved, (path) => path.replace(/%2f/gi, '/'), merged, withoutDots],
  'slashes, and parameters of dot segments': [
    decodedUnreserved,
    (path) => path.replace(/%2f|%5c|\\/gi, '/').replace(/(\/\.{1,2});[^/]*/g, '$1'),
    withoutDots,
  ],
  'Python, NFKC': [decodedOnce, compatible, withoutDots],
};

const ATOMS = [
  'admin',
  'ADMIN',
  'x',
  'a',
  'status',
  'f.php',
  '.',
  '..',
  '...',
  '/',
  '/',
  '/',
  '/',
  ';',
  ';a=b',
  '%2f',
  '%5c',
  '\\',
  '%2e',
  '%2e%2e',
  '%3b',
  '%3f',
  '%23',
  '%20',
  '%09',
  '%252f',
  '%252e',
  '%255c',
  '%253b',
  '%25',
  '%c0%af',
  '%c0%ae',
  '%e0%80%af',
  '%ef%bc%8f',
  '%ef%bc%8e',
  '%ef%bd%81',
  '%c3%a9',
  '%61',
  '%2561',
  ':',
  '::$DATA',
  ':$',
  ' ',
  '%',
];
const PATTERNS = [
  '/admin/*',
  '/admin',
  '/a*',
  '/x/admin/*',
  '/status',
  '/*',
  '/admin/x/f.php',
  '/caf%C3%A9/*',
  '/a%2Fb',
  '/x;a/*',
  '/..x/*',
];
const PARTS = ['*.php', '*/admin/*', '*admin*', '*/x', '*/admin/x*', '*/.*', '*/..*', '*/.x*', '*/x/.*'];

/** Numbers below `below`, reproducible. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function pathFrom(random: (below: number) => number): string {
  let path = '/';
  for (let count = 1 + random(7); count > 0; count--) path += ATOMS[random(ATOMS.length)];
  return path.replaceAll(' ', '%20');
}

/** Shorter forms of the paths that a search found most expensive to check: whole, and cut at other places. */
const DEAR: readonly string[] = [
  `//${'x///'.repeat(30)}%20//x/%3b`,
  `//${'a::$DATA.%20x/'.repeat(30)}`,
  `/${'..;::$DATA'.repeat(20)}%5c..;/admin/x`,
  `/${'.'.repeat(150)}%2e/../%252fadmin/x`,
  `/x/${'.'.repeat(150)}%2541:.:`,
  `//./%0a${':'.repeat(100)}f.php%2a`,
  `/${':$'.repeat(50)}%ef%bd%81${':$'.repeat(50)}\\:$%20status`,
  `/${'%e2%82%ac\\a%2541'.repeat(30)}/admin/x`,
  `/${'..%c0%af%2541'.repeat(30)}/../admin`,
  `//x${'%20.%3fx'.repeat(30)}::status%252fx/`,
  `/${'%252561'.repeat(30)}dmin/x`,
  `//../${'%c2%a0'.repeat(30)}/a/../admin/f.php`,
];

const ASKED: MatchedRequest = {
  method: 'GET',
  target: '/',
  fields: '',
  host: 'a.test',
  port: 80,
  secure: false,
  draw: -1,
  splitLine: '',
  client: { address: '127.0.0.1', facts: () => ({ connection: { local: null } }) },
};

/** Each server alone, and with each additional step that another server could add before or after it. */
function* servers(): Generator<[name: string, steps: readonly Step[]]> {
  const extra = [backslashes, withoutParameters, merged, trimmed, withoutDots, decodedOnce, withoutStreams, blanksTrimmed, stripped];
  for (const [name, steps] of Object.entries(SERVERS)) {
    yield [name, steps];
    for (const step of extra) {
      yield [`${name}, then ${step.name}`, [...steps, step]];
      yield [`${step.name}, then ${name}`, [decodedUnreserved, step, ...steps]];
    }
  }
}

const ALL = [...servers()];

/**
 * How `sent` is read after these steps. What a step has made of a path is remembered in `made`, because servers have most of their first
 * steps in common, and most steps leave most paths unchanged.
 */
function readBy(steps: readonly Step[], sent: string, made: Map<Step, Map<string, string>>): string {
  let path = sent;
  for (const step of steps) {
    const known = made.get(step) ?? new Map<string, string>();
    made.set(step, known);
    const next = known.get(path) ?? step(path);
    known.set(path, next);
    path = next;
  }
  return path;
}

const written = (path: string): string => normalizedPath(path);

test('the verdict covers every reading of every known server: all combinations of steps, random paths', () => {
  const evaluated = [
    ...PATTERNS.map((pattern) => ({ pattern, matches: compilePattern(pattern).matches, evaluate: evaluatorForPattern(pattern, false) })),
    ...[
      ...PARTS.map((part): Condition => ({ path: [part] })),
      { path: ['/a*'], not: [{ path: ['/admin/*', '*.php'] }] },
      { not: [{ path: ['*/.*'] }] },
    ].map((condition) => {
      const [matches, evaluate] = [compileCondition(condition), evaluatorForCondition(condition, false)];
      return {
        pattern: JSON.stringify(condition),
        matches: (path: string) => matches(path, ASKED),
        evaluate: (readings: Readings) => evaluate(readings, ASKED),
      };
    }),
  ];
  const random = randomFrom(20_261_122);
  let read = 0;
  let sure = 0;
  const sents = DEAR.flatMap((path) => [path, path.slice(0, -1), path.slice(0, path.length >> 1)]);
  for (const sent of [...sents, ...Array.from({ length: 4_000 }, () => pathFrom(random))]) {
    const readings = readingsOf(sent, false);
    if (readings === null || readings === undefined) continue;
    read++;
    const verdicts = evaluated.map(({ evaluate }) => evaluate(readings));
    const ours = written(sent);
    const made = new Map<Step, Map<string, string>>();
    const others = new Set([ours, ...ALL.map(([, steps]) => readBy(steps, sent, made))]);
    for (const [nth, { pattern, matches }] of evaluated.entries()) {
      const verdict = verdicts[nth];
      if (verdict === 'some') continue;
      sure++;
      for (const other of others) {
        const means = matches(other);
        if (means === (verdict === 'all')) continue;
        const name = ALL.find(([, steps]) => readBy(steps, sent, made) === other)?.[0] ?? 'ours';
        assert.fail(`${sent} is ${other} to ${name}, and ${means ? 'matches' : 'does not match'} ${pattern}: ${verdict}`);
      }
    }
  }
  assert.ok(read > 2_000 && sure > 10_000, `${read} read, ${sure} sure`);
});

test('checking a path takes work proportional to its length, up to a bound', () => {
  const steps = (path: string, pattern: string): number => {
    const readings = readingsOf(path, false);
    assert.ok(readings);
    evaluatorForPattern(pattern, false)(readings);
    evaluatorForCondition({ path: ['*.php'] }, false)(readings, ASKED);
    evaluatorForCondition({ path: ['*/admin/*'] }, false)(readings, ASKED);
    return readings.effort.spent;
  };
  for (const part of ['%2f', 'admin/../', 'admin%2f..%2f', 'a;/', '%c0%af', '%252e/', '.%20', 'a/'])
    for (const pattern of ['/admin/*', '/x/y/z/*', '/admin/admin/admin/*']) {
      const [short, long] = [`/${part.repeat(20)}%2fx`, `/${part.repeat(60)}%2fx`].map((path) => steps(path, pattern));
      assert.ok(
        long !== undefined && short !== undefined && long <= 3 * short + 50 && long < 10 * 60,
        `${part} ${pattern}: ${short}, ${long}`,
      );
    }
  const readings = readingsOf(`/${'a/'.repeat(120)}../%2f`, false);
  assert.ok(readings);
  const evaluators = Array.from({ length: 400 }, (_, nth) => evaluatorForPattern(`/a/b${nth}/*`, false));
  const verdicts = evaluators.map((evaluate) => evaluate(readings));
  const { spent } = readings.effort;
  assert.ok(spent < 1_000 + 13 * evaluators.length, `${spent} steps`);
  assert.equal(verdicts.at(-1), 'some', 'a path that is not evaluated may mean anything');
  for (const path of DEAR) assert.ok(steps(path, '/admin/*') < 1_000, path);
});

test('a path that no real client sends is not interpreted: too long, too many segments, or escaped three times', () => {
  const isRead = (path: string): boolean => readingsOf(path, false) !== null;
  for (const [fits, exceeds] of [
    [`/${'a'.repeat(LONGEST_READ - 2)};`, `/${'a'.repeat(LONGEST_READ - 1)};`],
    [`/a;${'/a'.repeat(MAX_SEGMENTS_READ - 1)}`, `/a;${'/a'.repeat(MAX_SEGMENTS_READ)}`],
    [`/a;${'%2F'.repeat(MAX_SEGMENTS_READ - 1)}`, `/a;${'%2F'.repeat(MAX_SEGMENTS_READ)}`],
    [`/${'a'.repeat(500)}%252561`, `/${'a'.repeat(520)}%252561`],
    [`/${'%252F'.repeat(100)}${'a'.repeat(3_000)}`, `/${'%25252F'.repeat(100)}${'a'.repeat(3_000)}`],
  ] as const) {
    assert.ok(isRead(fits), fits);
    assert.ok(!isRead(exceeds), exceeds);
  }
  assert.equal(readingsOf(`/${'a/'.repeat(2_000)}`, false), undefined, 'an unambiguous path may have any length');
});
