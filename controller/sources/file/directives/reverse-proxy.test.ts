import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (upstreams: string) => compileBytes(Buffer.from(`a.example {\n  reverse_proxy ${upstreams}\n}\n`), 'Sluicefile', {});

test('an upstream may be a socket, next to others, with or without TLS', () => {
  for (const [upstreams, tls] of [
    ['unix//run/App.sock unix//run/app.sock 10.0.0.1:80', false],
    ['https://unix//run/App.sock https://unix//run/app.sock https://10.0.0.1:80', true],
  ] as const) {
    const result = compiled(upstreams);
    assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
    const [route] = result.routes;
    assert.equal(route?.tls, tls);
    assert.deepEqual(
      route?.upstreams?.map(({ address }) => address),
      ['unix//run/App.sock', 'unix//run/app.sock', '10.0.0.1:80'],
    );
  }
});

for (const [word, reason] of [
  ['unix:/run/app.sock', /write a socket as unix\/ followed by its absolute path: unix\/\/run\/app\.sock/],
  ['unix/run/app.sock', /write a socket as unix\/ followed by its absolute path/],
  ['unix//run/', /a socket path must name a file/],
  ['unix//run/a.sock unix//run/a.sock', /this upstream is listed twice/],
] as const)
  test(`reverse_proxy ${word} is an error`, () => {
    const result = compiled(word);
    assert.match(result.ok ? 'accepted' : result.diagnostics.map(formatDiagnostic).join('\n'), reason);
  });

const routeOf = (text: string) => {
  const result = compileBytes(Buffer.from(text), 'Sluicefile', {});
  assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
  return result.routes[0];
};
const weightsOf = (text: string) => routeOf(text)?.upstreams?.map(({ address, weight }) => `${address} ${weight}`);

test('the block of reverse_proxy has more upstreams, weights, a policy and a transport', () => {
  const text = `a.example {
  reverse_proxy a:80 {
    to b:80 c:80 {
      weight 3
    }
    to d:80
    lb_policy header X-User
    transport http {
      read_timeout 5m
    }
  }
}
`;
  assert.deepEqual(weightsOf(text), ['a:80 1', 'b:80 3', 'c:80 3', 'd:80 1']);
  assert.deepEqual(routeOf(text)?.lb_policy, { policy: 'header', name: 'X-User' });
  assert.deepEqual(routeOf(text)?.transport, { read_timeout_secs: 300 });
});

test('weighted_round_robin has a weight for each upstream', () => {
  const text = 'a.example {\n  reverse_proxy a:80 b:80 {\n    lb_policy weighted_round_robin 3 1\n  }\n}\n';
  assert.deepEqual(weightsOf(text), ['a:80 3', 'b:80 1']);
  assert.deepEqual(routeOf(text)?.lb_policy, { policy: 'round_robin' });
});

test('lb_policy may be next to reverse_proxy, and in a handle', () => {
  const route = routeOf('a.example {\n  reverse_proxy a:80 b:80\n  lb_policy cookie\n  handle /x/* {\n    lb_policy least_conn\n  }\n}\n');
  assert.deepEqual(route?.lb_policy, { policy: 'cookie' });
  assert.deepEqual(route?.handles?.[0]?.lb_policy, { policy: 'least_conn' });
});

test('health checks, retries and the time to find a target are options of the block', () => {
  const route = routeOf(`a.example {
  reverse_proxy a:80 b:80 {
    health_uri /up?full=1
    health_interval 5s
    health_timeout 2s
    health_status 2xx
    health_passes 2
    health_fails 3
    lb_retries 1
    lb_try_duration 10s
  }
}
`);
  assert.deepEqual(route?.health, { path: '/up?full=1', interval_secs: 5, timeout_secs: 2, status: '2xx', passes: 2, fails: 3 });
  assert.deepEqual([route?.lb_retries, route?.hold_secs], [1, 10]);
  assert.deepEqual(routeOf('a.example {\n  reverse_proxy a:80\n  health_uri /up\n}\n')?.health, {
    path: '/up',
    interval_secs: 10,
    timeout_secs: 5,
  });
});

test('the block of a site does not apply to the targets of a handle, and directives next to it do', () => {
  const inBlock = routeOf(`a.example {
  reverse_proxy a:80 {
    health_uri /up
    transport http {
      read_timeout 5m
    }
  }
  handle /x/* {
    reverse_proxy x:80
  }
  handle /y/* {
    header X-A b
  }
}
`);
  assert.deepEqual(
    inBlock?.handles?.map(({ health, transport }) => [health, transport]),
    [
      [null, null],
      [undefined, undefined],
    ],
  );
  const outside = routeOf('a.example {\n  reverse_proxy a:80\n  health_uri /up\n  handle /x/* {\n    reverse_proxy x:80\n  }\n}\n');
  assert.equal(outside?.handles?.[0]?.health, undefined);
});

test('header_up and header_down of a block change what its upstreams get and send', () => {
  const route = routeOf(`a.example {
  reverse_proxy a:80 {
    header_up Host {upstream_hostport}
    header_up -Cookie
    header_up X-Old a b
    header_up Authorization Bearer Token
    header_up Authorization Bearer ""
    header_up Authorization "Basic" c2VjcmV0
    header_down ?Cache-Control "max-age=60"
    header_down -Server
    header_down Content-Security-Policy child-src frame-src
    header_down Content-Security-Policy script-src "script-src 'self'"
    header_down Content-Security-Policy sandbox ""
    header_down X-Policy frame-ancestors 'none'
  }
}
`);
  const upstream_only = true;
  assert.deepEqual(route?.request_headers, [
    { name: 'Host', value: '{upstream_hostport}', upstream_only },
    { name: 'Cookie', value: null, upstream_only },
    { name: 'X-Old', value: 'b', op: 'replace', find: 'a', upstream_only },
    { name: 'Authorization', value: 'Token', op: 'replace', find: 'Bearer', upstream_only },
    { name: 'Authorization', value: '', op: 'replace', find: 'Bearer', upstream_only },
    { name: 'Authorization', value: 'c2VjcmV0', op: 'replace', find: 'Basic', upstream_only },
  ]);
  assert.deepEqual(route?.headers, [
    { name: 'Cache-Control', value: 'max-age=60', op: 'default', upstream_only },
    { name: 'Server', value: null, upstream_only },
    { name: 'Content-Security-Policy', value: 'frame-src', op: 'replace', find: 'child-src', upstream_only },
    { name: 'Content-Security-Policy', value: "script-src 'self'", op: 'replace', find: 'script-src', upstream_only },
    { name: 'Content-Security-Policy', value: '', op: 'replace', find: 'sandbox', upstream_only },
    { name: 'X-Policy', value: "'none'", op: 'replace', find: 'frame-ancestors', upstream_only },
  ]);
});

const diagnosed = (line: string): string => {
  const result = compileBytes(Buffer.from(`a.example {\n  reverse_proxy a:80 {\n    ${line}\n  }\n}\n`), 'Sluicefile', {});
  return (result.ok ? result.warnings : result.diagnostics).map(formatDiagnostic).join('\n');
};

test('fields that are sent anyway are a warning in header_up with the value that they have, and an error with another', () => {
  for (const line of ['X-Real-IP {remote_host}', 'X-Forwarded-Proto {scheme}', 'X-Forwarded-For {remote_host}', 'x-forwarded-host {host}'])
    assert.match(diagnosed(`header_up ${line}`), /header_up \S+ is not needed: the proxy always sends this header; delete the line/);
  assert.match(diagnosed('header_up X-Real-IP 192.0.2.1'), /header_up "X-Real-IP": the proxy itself sets this header/);
});

for (const [line, fault] of [
  ['header_up', /header_up is missing an argument: write header_up \[\+\|-\|\?\]<Name>/],
  ['header_down', /header_down is missing an argument: write header_down \[\+\|-\|\?\]<Name>/],
  ['read_timeout 5s', /reverse_proxy has no "read_timeout": it belongs in the block of transport$/],
  ['tls_insecure_skip_verify', /reverse_proxy has no "tls_insecure_skip_verify": it belongs in the block of transport: write insecure$/],
  ['header_up X-A', /header_up "X-A" has no value: write X-A "<value>", or -X-A to remove it/],
  ['header_down >X-A b', /header_down has no ">": write X-A or -X-A/],
  ['header_up Transfer-Encoding chunked', /header_up "Transfer-Encoding": the proxy itself sets this header; delete the line/],
  ['header_down Content-Length 1', /header_down "Content-Length": the proxy itself sets this header; delete the line/],
  ['header_up -Host', /a request always has a host/],
  ['header_up X-A b {\n}', /header_up takes no block/],
  ['header_up X-A "^a(.*)" b', /the text to find is plain text, not a pattern/],
  ['header_up Authorization Basic YTpi', /put the whole value in quotes, or only "Basic" if it is to be replaced/],
  ["header_down Content-Security-Policy frame-ancestors 'none'", /put the whole value in quotes, or only "frame-ancestors" if it is to/],
  ["header_down Content-Security-Policy-Report-Only default-src 'self'", /put the whole value in quotes, or only "default-src" if/],
  ["header_down Content-Security-Policy fenced-frame-src 'none'", /put the whole value in quotes, or only "fenced-frame-src" if/],
  ["header_down Content-Security-Policy require-trusted-types-for 'script'", /put the whole value in quotes, or only "require-trusted-/],
  ['header_down Content-Security-Policy trusted-types default', /put the whole value in quotes, or only "trusted-types" if/],
  ['header_up X-A {nonsense}', /nonsense/],
  ['header_upp X-A b', /did you mean "header_up"/],
] as const)
  test(`${JSON.stringify(line)} in reverse_proxy is an error`, () => assert.match(diagnosed(line), fault));
