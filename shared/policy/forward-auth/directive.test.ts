import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { parseRoute } from '../../route.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { forwardAuthDirective } from './directive.ts';

function read(head: string, ...lines: (string | Directive)[]) {
  const { context, mistakes } = directiveContext();
  const part: Parameters<typeof forwardAuthDirective.read>[1] = {};
  const warnings: string[] = [];
  const report = { ...context.report, warn: (_: unknown, message: string) => warnings.push(message) };
  forwardAuthDirective.read(line(`forward_auth ${head}`, blockOf(...lines)), part, { ...context, report }, null);
  return { auth: part.forward_auth, mistakes, warnings };
}

test('the server, the path and the fields to copy, in a line or a block as in a Caddyfile', () => {
  const headers = line('copy_headers', blockOf('Remote-Groups', 'Remote-Email>X-Mail'));
  assert.deepEqual(read('https://auth:9091', 'uri /verify?a=b', 'copy_headers Remote-User', headers, 'timeout 5s'), {
    auth: {
      upstreams: ['auth:9091'],
      tls: true,
      uri: '/verify?a=b',
      copy_headers: [
        { from: 'Remote-User', to: 'Remote-User' },
        { from: 'Remote-Groups', to: 'Remote-Groups' },
        { from: 'Remote-Email', to: 'X-Mail' },
      ],
      timeout_secs: 5,
    },
    mistakes: [],
    warnings: [],
  });
});

test('header_up changes the request to the authentication server, and only causes a warning for fields that are sent anyway', () => {
  const { auth, mistakes, warnings } = read(
    'auth:80',
    ...['uri /', 'header_up X-Original-URL {scheme}://{host}{uri}', 'header_up -Accept-Language', 'header_up Host {upstream_hostport}'],
    ...['header_up X-Forwarded-Uri {uri}', 'header_up X-Real-IP {remote_host}'],
  );
  assert.deepEqual(mistakes, []);
  assert.deepEqual(
    auth?.request_headers?.map(({ name }) => name),
    ['X-Original-URL', 'Accept-Language', 'Host'],
  );
  assert.deepEqual(warnings, [
    'header_up X-Forwarded-Uri is not needed: the proxy always sends this header; delete the line',
    'header_up X-Real-IP is not needed: the proxy always sends this header; delete the line',
  ]);
});

test('a route can’t change fields for an authentication server conditionally, or those that it decides by', () => {
  const parsed = (change: object) =>
    parseRoute({
      domain: 'a.test',
      upstream: '127.0.0.1:1',
      tls: false,
      forward_auth: { upstreams: ['127.0.0.1:2'], uri: '/', request_headers: [change] },
    });
  assert.equal(parsed({ name: 'X-A', value: 'b' }).ok, true);
  for (const change of [
    { name: 'X-A', value: 'b', upstream_only: true },
    { name: 'X-A', value: 'b', match: { paths: ['/x'] } },
    { name: 'X-Forwarded-Method', value: 'GET' },
    { name: 'Content-Length', value: '1' },
  ])
    assert.equal(parsed(change).ok, false, JSON.stringify(change));
});

test('cookies are passed on only where that is written', () => {
  assert.equal(read('auth:80', 'uri /', 'pass_cookies').auth?.pass_cookies, true);
  assert.equal(read('auth:80', 'uri /').auth?.pass_cookies, undefined);
});

for (const [head, lines, mistake] of [
  ['auth:80', ['uri /', 'pass_cookies a'], '"a" is one argument too many for pass_cookies: write pass_cookies'],
  ['auth:80', ['uri /', 'pass_cookies', 'pass_cookies'], 'pass_cookies is already in line 1; keep one of them'],
  ['auth:80', [], 'forward_auth needs the path to request: write uri <path> in its block'],
  ['auth', ['uri /'], 'forward_auth "auth": the port is missing (expected host:port)'],
  ['auth:80 https://b:443', ['uri /'], 'forward_auth "https://b:443": its addresses must all have https://, or none of them'],
  ['auth:80', ['uri verify'], 'uri "verify": a path must start with / and must not contain spaces'],
  ['auth:80', ['uri /{hots}'], 'uri "/{hots}": "{hots}" is not a placeholder (did you mean "host"?)'],
  ['auth:80', ['uri /a', 'uri /b'], 'uri is already in line 1; keep one of them'],
  ['auth:80', ['uri /', 'copy_header A'], 'forward_auth has no "copy_header" (did you mean "copy_headers"?)'],
  ['auth:80', ['uri /', 'copy_headers Host'], 'copy_headers "Host": the proxy sets or removes this header itself'],
  ['auth:80', ['uri /', 'copy_headers A>B>C'], 'copy_headers "A>B>C": write the name of a header, or two with > between them'],
  [
    'auth:80',
    ['uri /', 'copy_headers X-User', 'copy_headers B>x_user'],
    'copy_headers "B>x_user": another value is copied to this header already; keep one of them',
  ],
  ['auth:80', ['uri /', 'timeout 1h'], 'timeout "1h": whole seconds, from 1s to 300s'],
  ['auth:80', ['uri /', 'header_up'], 'header_up is missing an argument: write header_up [+|-|?]<Name> [<value>|<find> <replacement>]'],
  ['auth:80', ['uri /', 'header_up Upgrade b'], 'header_up "Upgrade": the proxy itself sets this header; delete the line'],
  [
    'auth:80',
    ['uri /', 'header_up +x_forwarded_uri /open'],
    'header_up "+x_forwarded_uri": the proxy itself sets this header, from the request that is decided about; delete the line',
  ],
  [
    'auth:80',
    ['uri /', 'header_up -Host'],
    'header_up "-Host": a request always has a host; set it instead, as in Host {upstream_hostport}',
  ],
  [
    'auth:80',
    ['uri /', 'trusted_proxies private_ranges'],
    'forward_auth has no "trusted_proxies": delete it, or write it as a global option if clients reach this proxy through another one: it applies to all sites',
  ],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => {
    const { auth, mistakes } = read(head, ...lines);
    assert.deepEqual(mistakes, [mistake]);
    assert.ok(auth, 'a mistake must not leave the site open');
  });

test('a rejection becomes a redirect by the form of a Caddyfile', () => {
  const respond = (redir: string) => line('handle_response @error', blockOf(redir));
  const { auth, mistakes } = read('auth:80', 'uri /oauth2/auth?m={method}', '@error status 401 5xx', respond('redir * /in?rd={uri}'));
  assert.deepEqual(mistakes, []);
  assert.equal(auth?.uri, '/oauth2/auth?m={method}');
  assert.deepEqual(auth?.rejections, [{ statuses: [401, 5], to: '/in?rd={uri}', status: 302 }]);
  for (const [lines, mistake] of [
    [[respond('redir /in')], 'write handle_response @<name> { redir <to> [<status>] }, with @<name> status <code> [<code> …] above it'],
    [['@error status 200', respond('redir /in')], 'status "200": a status from 300 to 599, or 3xx, 4xx or 5xx'],
    [['@error path /x'], '"@error": in forward_auth, write @<name> status <code> [<code> …]'],
    [['@error status 401', '@error status 403'], '"@error" is already defined; keep one of them'],
    [
      ['@error status 401', respond('respond hi')],
      'write handle_response @<name> { redir <to> [<status>] }, with @<name> status <code> [<code> …] above it',
    ],
    [
      ['@error status 401', respond('redir https://{header.x}/')],
      'redir "https://{header.x}/": a client must not be able to choose the host of a redirect: write the host, or {host} for the requested one',
    ],
    [
      ['@error status 401', respond('redir /in 200')],
      'the status of a redirect must be one of 301, 302, 303, 307, 308, permanent, temporary',
    ],
  ] as const)
    assert.deepEqual(read('auth:80', 'uri /', ...lines).mistakes, [mistake]);
});

test('a route accepts it with its defaults, and no field that the proxy itself sets', () => {
  const withAuth = (more: object) =>
    parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, forward_auth: { upstreams: ['auth:80'], uri: '/', ...more } });
  const good = withAuth({});
  assert.ok(good.ok);
  assert.deepEqual(good.value.forward_auth, { upstreams: ['auth:80'], tls: false, uri: '/', copy_headers: [], timeout_secs: 10 });
  for (const more of [
    { upstreams: [] },
    { uri: 'x' },
    { uri: '/a b' },
    { uri: '//a' },
    { uri: '/{hots}' },
    { uri: '/{resp.status_code}' },
    { rejections: [{ statuses: [200], to: '/' }] },
    { rejections: [{ statuses: [401], to: 'https://{query.x}/' }] },
    { rejections: [{ statuses: [401], to: 'javascript:x' }] },
    { uri: '/\r\nX: y' },
    { timeout_secs: 0 },
    { copy_headers: [{ from: 'A', to: 'Content-Length' }] },
    { copy_headers: [{ from: 'A b', to: 'A' }] },
  ])
    assert.equal(withAuth(more).ok, false, JSON.stringify(more));
});
