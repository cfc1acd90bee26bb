import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRoute } from '../../route.ts';
import { directiveContext, line } from '../testing/directive-context.ts';
import { rateLimitDirective } from './directive.ts';

/** What the lines of a block give, and their mistakes without the marks around quoted text. */
function read(...lines: string[]) {
  const { context, mistakes } = directiveContext({ expanded: () => assert.fail('it has no block') });
  const part: Parameters<typeof rateLimitDirective.read>[1] = {};
  for (const text of lines) rateLimitDirective.read(line(text), part, context, null);
  return { part, mistakes };
}

test('a limit per second is that of the route; others are in its list', () => {
  assert.deepEqual(
    read('rate_limit 10/s', 'rate_limit 100/m', 'rate_limit 5000/h header X-Api-Key', 'rate_limit 5/s key {client_ip}{path}'),
    {
      part: { rate_limit_rps: 10, rate_limits: [{ rpm: 100 }, { rph: 5_000, header: 'X-Api-Key' }, { rps: 5, key: '{client_ip}{path}' }] },
      mistakes: [],
    },
  );
});

for (const [lines, mistake] of [
  [['rate_limit 10'], 'rate_limit "10": write a rate as <n>/s, <n>/m or <n>/h, for example 10/s'],
  [['rate_limit 10/m heder X-Key'], 'rate_limit "heder" (did you mean "header"?)'],
  [['rate_limit 10/m by X-Key'], 'rate_limit "by": write rate_limit <n>/s|m|h [header <Name>|key <text>]'],
  [['rate_limit 10/m header'], 'header is missing the name of a field: write rate_limit <n>/s|m|h [header <Name>|key <text>]'],
  [['rate_limit 10/m header a:b'], 'header "a:b": a header name consists of letters, digits and hyphens'],
  [['rate_limit 10/m key'], 'key is missing a text: write rate_limit <n>/s|m|h [header <Name>|key <text>]'],
  [['rate_limit 10/m key {clientip}'], 'key "{clientip}": "{clientip}" is not a placeholder (did you mean "client_ip"?)'],
  [['rate_limit 10/m key client_ip'], 'key "client_ip": write {client_ip} for the placeholder'],
  [
    ['rate_limit 10/m key {http.auth.user.id}'],
    'key "{http.auth.user.id}": {http.auth.user.id} is not known yet: rate_limit comes before authentication',
  ],
  [['rate_limit 10/m key a{uuid}'], 'key "a{uuid}": {http.request.uuid} is different for each request, so no limit would ever be reached'],
  [
    ['rate_limit 10/m key {host}', 'rate_limit 9/m key {host}'],
    'there is a rate_limit per minute already; keep one of them, or put a matcher before it',
  ],
  [['rate_limit 10/s', 'rate_limit 9/s'], 'there is a rate_limit per second already; keep one of them, or put a matcher before it'],
  [
    ['rate_limit 10/m header Key', 'rate_limit 9/m header key'],
    'there is a rate_limit per minute already; keep one of them, or put a matcher before it',
  ],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => assert.deepEqual(read(...lines).mistakes, [mistake]));

test('a route accepts one limit per entry of its list', () => {
  const withLimit = (limit: object) => parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, rate_limits: [limit] }).ok;
  assert.ok(withLimit({ rpm: 5 }));
  assert.ok(withLimit({ rph: 5, header: 'X-Key', match: { path: ['/login'] } }));
  for (const limit of [
    {},
    { rps: 1, rpm: 1 },
    { rph: 0 },
    { rpm: 1.5 },
    { rpm: 1, header: 'a b' },
    { rpm: 1, match: {} },
    { rpm: 1, key: '' },
    { rpm: 1, key: '{resp.status_code}' },
    { rpm: 1, key: '{host}', header: 'A' },
  ])
    assert.equal(withLimit(limit), false, JSON.stringify(limit));
});
