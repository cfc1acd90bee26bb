import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conditionSchema } from '../../../shared/condition.ts';
import { compileCondition, type MatchedRequest } from './condition.ts';

// What the rules of a cluster's routes need (Gateway API, HTTPRouteMatch), as conditions: each row is a rule and requests.

type Request = { path?: string; method?: string; query?: string; fields?: string };
const rule = (condition: object): ((request: Request) => boolean) => {
  const matches = compileCondition(conditionSchema.parse(condition));
  return ({ path = '/', method = 'GET', query = '', fields = '' }) => {
    const x: MatchedRequest = {
      method,
      target: path + query,
      fields,
      host: 'a.test',
      port: 80,
      secure: false,
      draw: -1,
      splitLine: '',
      client: { address: '192.0.2.1', facts: () => ({ connection: { local: null } }) },
    };
    return matches(path, x);
  };
};

const ROWS: readonly [what: string, condition: object, matching: readonly Request[], others: readonly Request[]][] = [
  [
    'an exact path',
    { path: ['/one'] },
    [{ path: '/one' }, { path: '/one', query: '?x=/two' }],
    [{ path: '/one/' }, { path: '/one/two' }, { path: '/ONE' }, { path: '/onetwo' }, { path: '/' }],
  ],
  [
    'a prefix by segments',
    { path: ['/one', '/one/*'] },
    [{ path: '/one' }, { path: '/one/' }, { path: '/one/two' }],
    [{ path: '/onetwo' }, { path: '/two/one' }, { path: '/ONE/' }],
  ],
  ['the prefix /', { path: ['/*'] }, [{ path: '/' }, { path: '/x' }], []],
  [
    'an exact path that ends with a star',
    { path_regexp: ['^/one\\*$'] },
    [{ path: '/one*' }],
    [{ path: '/one' }, { path: '/one**' }, { path: '/onex' }],
  ],
  ['a method', { method: ['POST'] }, [{ method: 'POST' }], [{ method: 'GET' }, { method: 'post' }]],
  [
    'an exact header, whose name has any letter case',
    { header: [{ name: 'Version', values: ['two'], exact: true }] },
    [{ fields: 'version: two\r\n' }, { fields: 'VERSION:two\r\n' }],
    [{ fields: 'version: TWO\r\n' }, { fields: 'version: two,three\r\n' }, { fields: 'versions: two\r\n' }, {}],
  ],
  [
    'an exact header whose value has stars',
    { header: [{ name: 'Accept', values: ['*/*'], exact: true }] },
    [{ fields: 'Accept: */*\r\n' }],
    [{ fields: 'Accept: a/b\r\n' }, { fields: 'Accept: text/*\r\n' }],
  ],
  [
    'an exact header of several values',
    { header: [{ name: 'Env', values: ['a', 'b'], exact: true }] },
    [{ fields: 'Env: b\r\n' }],
    [{ fields: 'Env: c\r\n' }],
  ],
  [
    'an exact header that the request repeats',
    { header: [{ name: 'Env', values: ['b'], exact: true }] },
    [{ fields: 'Env: a\r\nX: y\r\nenv: b\r\n' }],
    [{ fields: 'Env: a\r\nEnv: c\r\n' }, { fields: 'Env: a, b\r\n' }],
  ],
  [
    'two headers, which must both match',
    {
      header: [
        { name: 'Version', values: ['two'], exact: true },
        { name: 'Color', values: ['blue'], exact: true },
      ],
    },
    [{ fields: 'Color: blue\r\nVersion: two\r\n' }],
    [{ fields: 'Version: two\r\n' }, { fields: 'Version: two\r\nColor: red\r\n' }],
  ],
  [
    'a header by expression, beside an exact one',
    { header: [{ name: 'A', values: ['1'], exact: true }], header_regexp: [{ name: 'B', pattern: '^(?:x|y)$' }] },
    [{ fields: 'A: 1\r\nB: y\r\n' }],
    [{ fields: 'A: 1\r\nB: xy\r\n' }, { fields: 'B: y\r\n' }],
  ],
  [
    'query parameters, which must all match, with names and values in their letter case',
    {
      query: [
        { name: 'animal', values: ['whale'] },
        { name: 'color', values: ['blue'] },
      ],
    },
    [{ query: '?color=blue&animal=whale' }, { query: '?animal=whale&x=y&color=blue' }],
    [{ query: '?animal=whale' }, { query: '?animal=Whale&color=blue' }, { query: '?Animal=whale&color=blue' }],
  ],
  [
    'a parameter by expression',
    { query_regexp: [{ name: 'id', pattern: '^[0-9]+$' }] },
    [{ query: '?id=12' }],
    [{ query: '?id=12a' }, { query: '?id=' }, { query: '?ID=12' }],
  ],
  [
    'path, method, header and query together',
    {
      path: ['/a', '/a/*'],
      method: ['GET'],
      header: [{ name: 'H', values: ['1'], exact: true }],
      query: [{ name: 'q', values: ['1'] }],
    },
    [{ path: '/a/b', query: '?q=1', fields: 'H: 1\r\n' }],
    [
      { path: '/a/b', query: '?q=1' },
      { path: '/ab', query: '?q=1', fields: 'H: 1\r\n' },
      { path: '/a', query: '?q=1', fields: 'H: 1\r\n', method: 'HEAD' },
    ],
  ],
];

for (const [what, condition, matching, others] of ROWS)
  test(what, () => {
    const matches = rule(condition);
    for (const request of matching) assert.ok(matches(request), JSON.stringify(request));
    for (const request of others) assert.ok(!matches(request), JSON.stringify(request));
  });
