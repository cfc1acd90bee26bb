import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRoute, published, type RouteSpec, readAppliedRoute, readRoute } from './route.ts';
import { MAX_RATE } from './values/rate.ts';

const ROUTE = { domain: 'a.example', upstream: '10.0.0.1:80', tls: false };
const good = (input: object): RouteSpec => {
  const result = readRoute(input);
  assert.ok('route' in result, JSON.stringify(result));
  return result.route;
};
const problem = (input: unknown) => {
  const result = readRoute(input);
  return 'problem' in result ? result.problem : { member: 'accepted', reason: '' };
};

describe('a route', () => {
  it('with only the three required members gets all defaults', () => {
    assert.deepEqual(good(ROUTE), {
      domain: 'a.example',
      upstream: '10.0.0.1:80',
      tls: false,
      rate_limit_rps: null,
      under_attack: false,
      source: null,
      https: 'auto',
      upstreams: [{ address: '10.0.0.1:80', weight: 1, state: 'healthy' }],
      headers: [],
      redirects: [],
      basic_auth: null,
      respond: null,
      handles: [],
    });
  });

  it('is published with the six members of the contract, in order', () => {
    const route = published(good({ ...ROUTE, domain: 'A.Example', rate_limit_rps: 5, source: 'me', headers: [{ name: 'X', value: 'y' }] }));
    assert.equal(
      JSON.stringify(route),
      '{"domain":"a.example","upstream":"10.0.0.1:80","tls":false,"rate_limit_rps":5,"under_attack":false,"source":"me"}',
    );
  });

  it('drops unknown members', () => assert.deepEqual(good({ ...ROUTE, colour: 'red' }), good(ROUTE)));

  it('is unchanged when parsed again', () => {
    const handles = [
      { path: '/api/*', strip_prefix: true, upstreams: [{ address: 'b:2' }] },
      { path: null, respond: { status: 404 } },
    ];
    const route = good({ ...ROUTE, handles, redirects: [{ from: '/a', to: '/b', status: 301 }], origin: 'Sluicefile:3' });
    assert.deepEqual(good(JSON.parse(JSON.stringify(route))), route);
  });

  it('uses the first entry of the pool as its upstream', () => {
    const upstreams = [{ address: 'b:2', id: 'x', weight: 0, state: 'draining' }, { address: 'c:3' }] as const;
    const route = good({ ...ROUTE, upstream: null, upstreams });
    assert.equal(route.upstream, 'b:2');
    assert.deepEqual(route.upstreams, [upstreams[0], { address: 'c:3', weight: 1, state: 'healthy' }]);
    assert.equal(good({ ...ROUTE, upstream: 'b:2', upstreams }).upstream, 'b:2');
  });

  it('may have no upstream if something else responds', () => {
    const none = { ...ROUTE, upstream: null };
    assert.equal(good({ ...none, respond: { status: 200, body: 'hi' } }).upstream, null);
    assert.equal(good({ ...none, handles: [{ path: '/x' }] }).upstreams.length, 0);
    assert.equal(good({ ...none, redirects: [{ from: '/', to: '/x', status: 308 }] }).upstream, null);
  });

  it('may be the catch-all or a wildcard', () => {
    assert.equal(good({ ...ROUTE, domain: '*' }).domain, '*');
    assert.equal(good({ ...ROUTE, domain: '*.Example' }).domain, '*.example');
  });

  it('removes a header with null, and allows every byte in a value except control characters', () => {
    const headers = [
      { name: 'X-A', value: null },
      { name: "!#$%&'*+.^_`|~0A", value: '\t ~\u0080\u00ff' },
    ];
    assert.deepEqual(good({ ...ROUTE, headers }).headers, headers);
  });
});

it('may be without a target if a controller applies it, but not if it is posted', () => {
  const read = readAppliedRoute({ ...ROUTE, upstream: null });
  assert.deepEqual('route' in read && [read.route.upstream, read.route.upstreams], [null, []]);
  assert.ok('problem' in readRoute({ ...ROUTE, upstream: null }));
});

describe('rejects a route', () => {
  const handle = (block: object) => ({ handles: [{ path: '/', ...block }] });
  const REFUSED: [member: string, change: object, reason?: RegExp][] = [
    ['domain', { domain: undefined }],
    ['domain', { domain: 7 }],
    ['domain', { domain: '' }, /it is empty/],
    ['domain', { domain: 'a:80' }, /a domain must not have a port/],
    ['domain', { domain: '*.*' }, /one leading/],
    ['upstream', { upstream: undefined }],
    ['upstream', { upstream: 80 }],
    ['upstream', { upstream: 'app' }, /port is missing/],
    ['upstream', { upstream: null }, /may be null only if blocks or the site itself respond/],
    ['tls', { tls: undefined }],
    ['tls', { tls: null }],
    ['tls', { tls: 'false' }],
    ['rate_limit_rps', { rate_limit_rps: 0 }],
    ['rate_limit_rps', { rate_limit_rps: 1.5 }],
    ['rate_limit_rps', { rate_limit_rps: MAX_RATE + 1 }],
    ['under_attack', { under_attack: 'yes' }, /expected boolean/],
    ['source', { source: '' }],
    ['source', { source: 'x'.repeat(257) }],
    ['https', { https: 'on' }],
    ['upstreams', { upstreams: [{ address: 'b:1' }] }, /first one must be the same address as upstream/],
    ['upstreams.0.address', { upstreams: [{ address: 'b' }] }, /port is missing/],
    ['upstreams.0.id', { upstreams: [{ address: 'b:1', id: '' }] }],
    ['upstreams.0.weight', { upstreams: [{ address: 'b:1', weight: -1 }] }],
    ['upstreams.0.weight', { upstreams: [{ address: 'b:1', weight: 1_001 }] }],
    ['upstreams.0.state', { upstreams: [{ address: 'b:1', state: 'gone' }] }],
    ['upstreams', { upstreams: new Array(10_001).fill({ address: 'b:1' }) }],
    ['headers.0.name', { headers: [{ name: 'a b', value: '' }] }, /letters, digits and hyphens/],
    ['headers.0.name', { headers: [{ name: '', value: '' }] }],
    ['headers.0.name', { headers: [{ name: ':status', value: '200' }] }, /letters, digits and hyphens/],
    ['handles.0.headers.0.name', { handles: [{ path: '/a', headers: [{ name: 'Content-Length', value: '1' }] }] }, /the proxy itself/],
    ['headers.0.value', { headers: [{ name: 'a', value: 'x\0' }] }, /must not contain control characters/],
    ['headers.0.value', { headers: [{ name: 'a', value: 'x\r\nSet-Cookie: y' }] }, /must not contain control characters/],
    ['headers.0.value', { headers: [{ name: 'a', value: 'x\n' }] }, /must not contain control characters/],
    ['headers.0.value', { headers: [{ name: 'a', value: '\u0100' }] }],
    ['headers.0.value', { headers: [{ name: 'a', value: 'x'.repeat(8_193) }] }],
    ['headers.0.value', { headers: [{ name: 'a' }] }],
    ['redirects.0.from', { redirects: [{ from: '', to: '/', status: 301 }] }],
    ['redirects.0.to', { redirects: [{ from: '/', to: '', status: 301 }] }],
    ['redirects.0.to', { redirects: [{ from: '/', to: '/\r\n', status: 301 }] }],
    ['redirects.0.to', { redirects: [{ from: '/*', to: 'https://{remainder}', status: 301 }] }, /must not be able to choose the host/],
    ['redirects.0.status', { redirects: [{ from: '/', to: '/', status: 204 }] }],
    ['redirects.0.to', { redirects: [{ from: '/', to: '/{nothing}', status: 301 }] }, /"\{nothing\}" is not a placeholder/],
    ['headers.0', { headers: [{ name: 'a', value: '{hots}' }] }, /"\{hots\}" is not a placeholder \(did you mean "host"\?\)/],
    ['headers.0', { headers: [{ name: 'a', value: 'b', find: 'c' }] }, /replace and find belong together/],
    ['headers.0', { headers: [{ name: 'a', value: null, op: 'add' }] }, /add needs a value/],
    ['respond.body', { respond: { status: 200, body: '{hots}' } }],
    ['respond.status', { respond: { status: 199 } }],
    ['respond.status', { respond: { status: 600 } }],
    ['respond.body', { respond: { status: 200, body: 'x'.repeat(65_537) } }],
    ['handles.0.path', { handles: [{}] }],
    ['handles.0.path', handle({ path: 'api' })],
    ['handles.0.strip_prefix', handle({ strip_prefix: 1 })],
    ['handles.0.tls', handle({ tls: 1 })],
    ['handles.0.rate_limit_rps', handle({ rate_limit_rps: 0 })],
    ['handles.0.upstreams.0.address', handle({ upstreams: [{ address: ':1' }] }), /host is missing/],
    ['handles.0.headers.0.name', handle({ headers: [{ name: ':', value: '' }] })],
    ['handles.0.redirects.0.status', handle({ redirects: [{ from: '/', to: '/', status: 304 }] })],
    ['handles.0.respond.status', handle({ respond: { status: 100 } })],
    ['origin', { origin: 'x'.repeat(1_025) }],
  ];
  for (const name of ['Connection', 'content-length', 'HTTP2-Settings', 'Keep-Alive', 'Proxy-Connection', 'TE', 'Trailer', 'Upgrade'])
    REFUSED.push(['headers.0.name', { headers: [{ name, value: null }] }, /the proxy itself sets this header/]);
  for (const [member, change, reason] of REFUSED) {
    it(`because of ${member}: ${JSON.stringify(change).slice(0, 60)}`, () => {
      const found = problem({ ...ROUTE, ...change });
      assert.equal(found.member, member, found.reason);
      assert.match(found.reason, reason ?? /./);
      assert.ok(!found.reason.includes('\n'), 'one line');
    });
  }

  it('that is not an object', () => {
    for (const input of [null, undefined, 7, 'route', [], true]) assert.equal(problem(input).member, 'route', JSON.stringify(input));
  });

  it('and reports the first wrong member in schema order', () => {
    assert.equal(problem({ tls: 1, upstream: 'x', domain: 'a b' }).member, 'domain');
    assert.equal(problem({ tls: 1, upstream: 'x', domain: 'a' }).member, 'upstream');
  });

  it('with a reason in the form MEMBER: why', () => {
    assert.deepEqual(parseRoute({ ...ROUTE, upstream: 'x' }), { ok: false, reason: 'upstream: the port is missing (expected host:port)' });
    assert.deepEqual(parseRoute(ROUTE), { ok: true, value: good(ROUTE) });
  });
});
