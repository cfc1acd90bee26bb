import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute } from '../../route.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { corsDirective } from './directive.ts';
import { parseOrigin } from './origin.ts';

function read(head: string, ...lines: string[]) {
  const { context, mistakes } = directiveContext();
  const part: Parameters<typeof corsDirective.read>[1] = {};
  corsDirective.read({ ...line(`cors ${head}`), block: lines.length > 0 ? blockOf(...lines) : null }, part, context, null);
  return { cors: part.cors, mistakes };
}

test('origins, methods, headers and the rest are read, with defaults for what is left out', () => {
  assert.deepEqual(
    read('https://A.test http://localhost:3000', 'methods get POST', 'headers X-A', 'expose X-B', 'credentials', 'max_age 1h'),
    {
      cors: {
        origins: ['https://a.test', 'http://localhost:3000'],
        methods: ['GET', 'POST'],
        headers: ['X-A'],
        expose: ['X-B'],
        credentials: true,
        max_age_secs: 3_600,
      },
      mistakes: [],
    },
  );
  assert.deepEqual(read('*').cors?.headers, ['*']);
  const { cors, mistakes } = read('https://* https://*.a.test', 'methods *', 'wildcard many', 'credentials');
  assert.deepEqual([cors?.origins, cors?.methods, cors?.wildcard, mistakes], [['https://*', 'https://*.a.test'], ['*'], 'many', []]);
});

for (const [head, lines, mistake] of [
  ['app.test', [], 'cors "app.test": an origin is a scheme and a host, such as https://app.example.com, without a path'],
  ['https://app.test/', [], 'cors "https://app.test/": an origin is a scheme and a host, such as https://app.example.com, without a path'],
  ['https://app.test:443', [], 'cors "https://app.test:443": browsers leave out the default port: write https://app.test'],
  ['https://a.*.test', [], 'cors "https://a.*.test": the only wildcard is one leading "*."'],
  ['*', ['credentials'], 'credentials can’t be allowed to every origin: name them instead of *'],
  ['*', ['method GET'], 'cors has no "method" (did you mean "methods"?)'],
  ['*', ['methods'], 'methods is missing an argument: write methods <METHOD> [<METHOD> …]'],
  ['*', ['headers a,b'], 'headers "a,b": a name consists of letters, digits and hyphens'],
  ['https://*.a.test', ['wildcard all'], 'wildcard "all": write one or many'],
  ['*', ['max_age 2d'], 'max_age "2d": whole seconds, 86400s at most'],
  ['*', ['max_age 1h', 'max_age 2h'], 'max_age is already in line 1; keep one of them'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => assert.deepEqual(read(head, ...lines).mistakes, [mistake]));

test('an origin is what browsers send, or has one wildcard label', () => {
  for (const text of [
    'https://a.test',
    'http://a.test:8080',
    'https://*.a.test',
    'http://localhost',
    'http://127.0.0.1:3000',
    'http://[::1]:3000',
    '*',
  ])
    assert.ok(parseOrigin(text).ok, text);
  for (const text of [
    '',
    'null',
    'https://',
    '//a.test',
    'ftp://a.test',
    'https://a.test:0',
    'https://a.test:99999',
    'https://u@a.test',
    'https://a.test?x',
    'https://a.test\r\nX: y',
    'https://*:8443',
    'https://*x',
  ])
    assert.equal(parseOrigin(text).ok, false, text);
});

test('a route refuses credentials for every origin', () => {
  const withCors = (cors: object) => parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, cors }).ok;
  assert.ok(withCors({ origins: ['https://a.test'], credentials: true }));
  for (const cors of [
    { origins: ['*'], credentials: true },
    { origins: [] },
    { origins: ['a.test'] },
    { origins: ['*'], methods: ['a b'] },
  ])
    assert.equal(withCors(cors), false, JSON.stringify(cors));
});
