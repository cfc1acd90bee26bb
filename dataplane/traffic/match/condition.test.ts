import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Condition, conditionSchema } from '../../../shared/condition.ts';
import { compileCondition, type MatchedRequest } from './condition.ts';

type Request = {
  path?: string;
  method?: string;
  query?: string;
  fields?: string;
  address?: string;
  host?: string;
  secure?: boolean;
  port?: number;
  local?: string | null;
};

function matches(condition: unknown, request: Request): boolean {
  const { path = '/', method = 'GET', query, fields = 'Host: a.example\r\n', address = '192.0.2.1', host = 'a.example' } = request;
  const { secure = false, port = 80, local = '198.51.100.1' } = request;
  const target = query === undefined ? path : `${path}?${query}`;
  const facts = () => ({ connection: { local: local === null ? null : { localAddress: local } } });
  const x: MatchedRequest = { method, target, fields, host, port, secure, draw: -1, splitLine: '', client: { address, facts } };
  const parsed: Condition = conditionSchema.parse(condition);
  return compileCondition(parsed)(path, x);
}

const AGENT = { header: [{ name: 'User-Agent', values: ['curl/*'] }] };

const TABLE: readonly [what: string, condition: object, request: Request, expected: boolean][] = [
  ['a path that is one of several', { path: ['/a', '/b/*'] }, { path: '/b/c' }, true],
  ['a path that matches neither pattern', { path: ['/a', '/b/*'] }, { path: '/b' }, false],
  ['the path without its query', { path: ['/a'] }, { path: '/a', query: 'b' }, true],
  ['a path with the suffix', { path: ['*.php'] }, { path: '/x/y.php', query: 'a' }, true],
  ['a path without the suffix', { path: ['*.php'] }, { path: '/x.php/y' }, false],
  ['a path that contains the text', { path: ['*/admin/*'] }, { path: '/x/admin/' }, true],
  ['a path that contains only part of the text', { path: ['*/admin/*'] }, { path: '/x/admin' }, false],
  ['a pattern in another spelling', { path: ['/%61/*'] }, { path: '/a/x' }, true],
  ['one of several methods', { method: ['GET', 'POST'] }, { method: 'POST' }, true],
  ['another method', { method: ['GET'] }, { method: 'HEAD' }, false],
  ['a method in another letter case', { method: ['GET'] }, { method: 'get' }, false],
  ['a header with the prefix, its name in another letter case', AGENT, { fields: 'user-AGENT: curl/8\r\n' }, true],
  ['a header without the prefix', AGENT, { fields: 'User-Agent: Mozilla curl/8\r\n' }, false],
  ['a missing header', AGENT, {}, false],
  ['the host', { host: ['b.example', 'a.example'] }, {}, true],
  ['another host', { host: ['b.example'] }, {}, false],
  ['a host one label below', { host: ['*.example'] }, {}, true],
  ['a host two labels below', { host: ['*.example'] }, { host: 'x.a.example' }, false],
  ['the parent of a wildcard', { host: ['*.a.example'] }, {}, false],
  ['a single label as a wildcard', { host: ['*.localhost'] }, { host: 'localhost' }, false],
  ['one of several ports', { port: [80, 8443] }, { port: 8443 }, true],
  ['another port, although Host names it', { port: [8443] }, { port: 80, host: 'a.example', fields: 'Host: a.example:8443\r\n' }, false],
  ['one of several addresses of ours', { local_ip: ['198.51.100.7', '198.51.100.1'] }, {}, true],
  ['another address of ours', { local_ip: ['198.51.100.7'] }, {}, false],
  ['our IPv4 address at a port that is open to IPv6, too', { local_ip: ['198.51.100.1'] }, { local: '::ffff:198.51.100.1' }, true],
  ['a range of addresses of ours', { local_ip: ['198.51.100.0/24', '2001:db8::/32'] }, { local: '::ffff:198.51.100.9' }, true],
  ['an IPv6 address of ours', { local_ip: ['2001:db8::1'] }, { local: '2001:db8::1' }, true],
  ['a range without our address', { local_ip: ['203.0.113.0/24'] }, {}, false],
  ['any address of ours for a request without a connection', { local_ip: ['198.51.100.7'] }, { local: null }, true],
  ['the scheme', { protocol: 'https' }, { secure: true }, true],
  ['another scheme', { protocol: 'https' }, {}, false],
  ['an expression that matches in the path', { path_regexp: ['\\.(?:css|js)$'] }, { path: '/x/a.css' }, true],
  ['an expression that does not', { path_regexp: ['^/v[0-9]+/'] }, { path: '/x/v1/' }, false],
  ['one of several expressions', { path_regexp: ['^/a', '^/b'] }, { path: '/b' }, true],
  ['a path longer than expressions read', { path_regexp: ['^/a'] }, { path: `/a${'x'.repeat(4_096)}` }, false],
  ['a field that an expression matches', { header_regexp: [{ name: 'a', pattern: '^b+$' }] }, { fields: 'A: bbb\r\n' }, true],
  ['any field of the name', { header_regexp: [{ name: 'a', pattern: '^b$' }] }, { fields: 'A: x\r\nA: b\r\n' }, true],
  ['a missing field', { header_regexp: [{ name: 'a', pattern: '.*' }] }, {}, false],
  [
    'either expression of a name',
    {
      header_regexp: [
        { name: 'a', pattern: '^b$' },
        { name: 'A', pattern: '^c$' },
      ],
    },
    { fields: 'A: c\r\n' },
    true,
  ],
  [
    'expressions of two names',
    {
      header_regexp: [
        { name: 'a', pattern: 'b' },
        { name: 'c', pattern: 'd' },
      ],
    },
    { fields: 'A: b\r\n' },
    false,
  ],
  ['a decoded parameter', { query_regexp: [{ name: 'q', pattern: '^a b$' }] }, { query: 'q=a+b' }, true],
  ['a missing parameter', { query_regexp: [{ name: 'q', pattern: '.*' }] }, { query: 'r=1' }, false],
  ['a name that only begins like the header', AGENT, { fields: 'User-Agent-X: curl/8\r\n' }, false],
  ['a name at the end of another', AGENT, { fields: 'X-User-Agent: curl/8\r\n' }, false],
  ['a name inside a value', AGENT, { fields: 'X: User-Agent: curl/8\r\n' }, false],
  ['the second of two fields', AGENT, { fields: 'User-Agent: x\r\nA: b\r\nUser-Agent: curl/8\r\n' }, true],
  ['a value with surrounding white space', { header: [{ name: 'A', values: ['b'] }] }, { fields: 'A:  b\t\r\n' }, true],
  ['a value with the suffix', { header: [{ name: 'A', values: ['*.txt'] }] }, { fields: 'A: x.txt\r\n' }, true],
  ['a value that contains the text', { header: [{ name: 'A', values: ['*b*'] }] }, { fields: 'A: abc\r\n' }, true],
  ['a pattern that is only a star', { header: [{ name: 'A', values: ['*'] }] }, { fields: 'A: \r\n' }, true],
  ['an empty value of a missing header', { header: [{ name: 'A', values: [''] }] }, {}, false],
  ['one of several values', { header: [{ name: 'A', values: ['b', 'c'] }] }, { fields: 'A: c\r\n' }, true],
  ['a value beyond ASCII, byte by byte', { header: [{ name: 'A', values: ['é*'] }] }, { fields: 'A: \u00c3\u00a9t\u00c3\u00a9\r\n' }, true],
  ['any value', { header: [{ name: 'A', values: [] }] }, { fields: 'A: \r\n' }, true],
  ['a header that must be absent and is absent', { header: [{ name: 'A', values: [], absent: true }] }, {}, true],
  ['a header that must be absent and is present', { header: [{ name: 'A', values: [], absent: true }] }, { fields: 'a: x\r\n' }, false],
  ['two headers, one of them missing', { header: [{ name: 'A', values: [] }, ...AGENT.header] }, { fields: 'A: x\r\n' }, false],
  ['a parameter', { query: [{ name: 'a', values: ['b'] }] }, { query: 'x=y&a=b' }, true],
  ['a parameter with another value', { query: [{ name: 'a', values: ['b'] }] }, { query: 'a=bb' }, false],
  ['a repeated parameter', { query: [{ name: 'a', values: ['b'] }] }, { query: 'a=c&a=b' }, true],
  ['a parameter without a value', { query: [{ name: 'a', values: [''] }] }, { query: 'a' }, true],
  ['a parameter with any value', { query: [{ name: 'a', values: [] }] }, { query: 'a=%zz' }, true],
  ['an escaped parameter', { query: [{ name: 'ä b', values: ['c&d'] }] }, { query: '%C3%A4+b=c%26d' }, true],
  ['a parameter that cannot be decoded', { query: [{ name: 'a', values: ['%zz'] }] }, { query: 'a=%zz' }, true],
  ['no query', { query: [{ name: 'a', values: [] }] }, {}, false],
  [
    'two parameters, one of them missing',
    {
      query: [
        { name: 'a', values: [] },
        { name: 'b', values: [] },
      ],
    },
    { query: 'a=1' },
    false,
  ],
  ['an address in a range', { remote_ip: ['10.0.0.0/8', '2001:db8::/32'] }, { address: '2001:db8::5' }, true],
  ['an address outside the range', { remote_ip: ['10.0.0.0/8'] }, { address: '11.0.0.1' }, false],
  ['members that all match', { path: ['/a'], method: ['GET'] }, { path: '/a' }, true],
  ['members of which one does not match', { path: ['/a'], method: ['POST'] }, { path: '/a' }, false],
  ['no exception', { path: ['/*'], not: [{ path: ['/a'] }] }, { path: '/b' }, true],
  ['an exception', { path: ['/*'], not: [{ path: ['/a'] }] }, { path: '/a' }, false],
  ['the second of two exceptions', { not: [{ path: ['/a'] }, { method: ['PUT'] }] }, { method: 'PUT' }, false],
  ['an exception of which only some members match', { not: [{ path: ['/a'], method: ['PUT'] }] }, { path: '/a' }, true],
];

for (const [what, condition, request, expected] of TABLE)
  test(`${what}: ${expected ? 'matches' : 'does not match'}`, () => assert.equal(matches(condition, request), expected));

test('a condition that matches everything or has a malformed path is refused', () => {
  for (const nothing of [{}, { name: '@a' }, { not: [{}] }, { path: ['*'] }, { path: ['x'] }])
    assert.equal(conditionSchema.safeParse(nothing).success, false);
});
