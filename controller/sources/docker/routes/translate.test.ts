import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_PROBLEMS_PER_ORIGIN } from '../../problem-list.ts';
import type { Container } from '../engine/container.ts';
import { fakeId } from '../testing/fake-container.ts';
import { sampleContainer, sampleSnapshot } from '../testing/sample-container.ts';
import { translate } from './translate.ts';

const labels = (more: Record<string, string>) => ({ labels: { 'sluice.domain': 'a.example', ...more } });
const codes = (containers: readonly Container[]) =>
  translate(sampleSnapshot(containers)).problems.map(({ code, origin }) => [code, origin]);

test('containers of one domain are one pool, the oldest first, each target with the id of its container', () => {
  const { routes, problems } = translate(sampleSnapshot([sampleContainer(1), sampleContainer(2)]));
  assert.deepEqual(problems, []);
  assert.equal(routes.length, 1);
  assert.partialDeepStrictEqual(routes[0], {
    domain: 'a.example',
    upstream: '172.18.0.1:80',
    source: 'docker',
    origin: 'container app-1 (000000000001)',
    upstreams: [
      { address: '172.18.0.1:80', id: fakeId(1), weight: 1 },
      { address: '172.18.0.2:80', id: fakeId(2), weight: 1 },
    ],
  });
});

test('each domain of a site is a route, sorted, and named sites are routes of their own', () => {
  const site = labels({ 'sluice.domain': 'c.example,a.example', 'sluice.api.domain': 'b.example', 'sluice.api.port': '81' });
  const { routes } = translate(sampleSnapshot([sampleContainer(1, site)]));
  assert.deepEqual(
    routes.map(({ domain, upstream }) => [domain, upstream]),
    [
      ['a.example', '172.18.0.1:80'],
      ['b.example', '172.18.0.1:81'],
      ['c.example', '172.18.0.1:80'],
    ],
  );
});

test('a container with a mistyped label only is listed with the reason why it is not routed', () => {
  const { routes, readings } = translate(sampleSnapshot([sampleContainer(1, { labels: { 'sluice.domian': 'a.example' } })]));
  assert.deepEqual(routes, []);
  assert.deepEqual(
    readings.map(({ name, accepted, change }) => ({ name, accepted, change })),
    [
      {
        name: 'app-1',
        accepted: { holds: false, reason: 'sluice.domian is not a Sluice label (did you mean sluice.domain?); sluice.domain is missing' },
        change: 'correct the labels sluice.* and create the container again',
      },
    ],
  );
  assert.deepEqual(translate(sampleSnapshot([sampleContainer(1, { labels: { other: 'x' } })])).readings, []);
});

test('labels become members of the route', () => {
  const site = labels({
    'sluice.tls': 'off',
    'sluice.rate_limit': '10/s',
    'sluice.header.X-A': 'b',
    'sluice.health': '/up',
    'sluice.hold': '20s',
    'sluice.upstream_tls': 'true',
  });
  assert.partialDeepStrictEqual(translate(sampleSnapshot([sampleContainer(1, site)])).routes[0], {
    tls: true,
    https: 'off',
    rate_limit_rps: 10,
    headers: [{ name: 'X-A', value: 'b' }],
    health: { path: '/up' },
    hold_secs: 20,
  });
});

for (const [said, tls, transport] of [
  [{ 'sluice.upstream_tls': 'insecure' }, true, { insecure: true }],
  [{ 'sluice.transport': 'h2c' }, false, { protocol: 'h2c' }],
  [{ 'sluice.upstream_tls': 'insecure', 'sluice.transport': 'h2' }, true, { protocol: 'h2', insecure: true }],
  [{ 'sluice.upstream_tls': 'true' }, true, undefined],
  [
    { 'sluice.response_header_timeout': '2m', 'sluice.read_timeout': 'off', 'sluice.request_timeout': '1h' },
    false,
    { response_header_timeout_secs: 120, read_timeout_secs: 0, request_timeout_secs: 3_600 },
  ],
] as const)
  test(`the transport follows ${JSON.stringify(said)}`, () => {
    const [route] = translate(sampleSnapshot([sampleContainer(1, labels(said))])).routes;
    assert.deepEqual([route?.tls, route?.transport], [tls, transport]);
  });

test('rejects HTTP/2 both with and without TLS', () => {
  const { routes, problems } = translate(
    sampleSnapshot([sampleContainer(1, labels({ 'sluice.upstream_tls': 'true', 'sluice.transport': 'h2c' }))]),
  );
  assert.deepEqual(routes, []);
  assert.match(problems[0]?.message ?? '', /transport: h2c is HTTP\/2 without TLS/);
});

for (const [claim, container, draining, target] of [
  ['no HEALTHCHECK: tried by the data plane', {}, false, { state: 'starting', probe: true }],
  ['HEALTHCHECK starting: out, and not tried', { health: 'starting' }, false, { state: 'starting', probe: undefined }],
  ['HEALTHCHECK healthy: in', { health: 'healthy' }, false, { state: 'healthy', probe: undefined }],
  ['HEALTHCHECK unhealthy: out', { health: 'unhealthy' }, false, { state: 'unhealthy', probe: undefined }],
  ['paused: out, although it is healthy', { status: 'paused', health: 'healthy' }, false, { state: 'paused', probe: undefined }],
  ['told to end: finishes what it has', { health: 'healthy' }, true, { state: 'draining', probe: undefined }],
  ['told to end without a HEALTHCHECK: not tried any more', {}, true, { state: 'draining', probe: undefined }],
] as const)
  test(`${claim}`, () => {
    const { routes } = translate(sampleSnapshot([sampleContainer(1, container)], { draining: new Set(draining ? [fakeId(1)] : []) }));
    const { state, probe } = routes[0]?.upstreams[0] ?? {};
    assert.deepEqual({ state, probe }, target);
  });

for (const status of ['created', 'exited', 'dead', 'removing'] as const)
  test(`a container that is ${status} is in no pool and has no route`, () => {
    assert.deepEqual(translate(sampleSnapshot([sampleContainer(1, { status })])).routes, []);
  });

test('a container that restarts keeps its domain known, without a target', () => {
  const [route] = translate(sampleSnapshot([sampleContainer(1, { status: 'restarting' })])).routes;
  assert.deepEqual([route?.domain, route?.upstream, route?.upstreams], ['a.example', null, []]);
});

test('a container that ends again and again is said to do so, and not to lack a network, which it has when it runs', () => {
  const { problems, readings } = translate(sampleSnapshot([sampleContainer(1, { status: 'restarting', networks: [] })]));
  assert.deepEqual(problems, []);
  assert.match(readings[0]?.resolved.reason ?? '', /ended, and the engine starts it again/);
  assert.match(readings[0]?.change ?? '', /docker logs app-1$/);
});

test('if containers of a pool differ, the oldest one’s labels apply, and the difference is reported for the other', () => {
  const containers = [
    sampleContainer(1, labels({ 'sluice.rate_limit': '10/s', 'sluice.port': '80' })),
    sampleContainer(2, labels({ 'sluice.rate_limit': '20/s', 'sluice.hold': '5s', 'sluice.port': '81' })),
  ];
  const { routes, problems } = translate(sampleSnapshot(containers));
  assert.deepEqual([routes[0]?.rate_limit_rps, routes[0]?.hold_secs], [10, undefined]);
  assert.deepEqual(
    routes[0]?.upstreams.map(({ address }) => address),
    ['172.18.0.1:80', '172.18.0.2:81'],
  );
  assert.deepEqual(
    problems.map(({ origin, domain, code, message }) => [origin, domain, code, message]),
    [
      [
        'container app-2 (000000000002)',
        'a.example',
        'labels_differ',
        'sluice.hold is absent in container app-1 (000000000001), which is older: that holds for a.example',
      ],
      [
        'container app-2 (000000000002)',
        'a.example',
        'labels_differ',
        'sluice.rate_limit is "10/s" in container app-1 (000000000001), which is older: that holds for a.example',
      ],
    ],
  );
});

test('the labels of the oldest remaining container apply once a container is stopped, and differences from the stopped one are not reported', () => {
  const containers = ['10/s', '20/s', '30/s'].map((limit, at) => sampleContainer(at + 1, labels({ 'sluice.rate_limit': limit })));
  const found = (...numbers: number[]) => translate(sampleSnapshot(containers, { draining: new Set(numbers.map(fakeId)) }));
  const limits = (...numbers: number[]) => found(...numbers).routes.map(({ rate_limit_rps }) => rate_limit_rps);
  assert.deepEqual([limits(), limits(1), limits(1, 2), limits(2)], [[10], [20], [30], [10]]);
  assert.deepEqual(limits(1, 2, 3), [10], 'if none remains, the oldest one’s labels still apply');
  assert.deepEqual(
    found(1).problems.map(({ code, origin }) => [code, origin]),
    [['labels_differ', 'container app-3 (000000000003)']],
  );
  assert.deepEqual(
    found(1).routes[0]?.upstreams.map(({ state }) => state),
    ['draining', 'starting', 'starting'],
  );
  assert.equal(found(1).routes[0]?.origin, 'container app-2 (000000000002)');
});

test('sites of different names share a pool across containers, and the oldest one’s labels apply', () => {
  const other = { labels: { 'sluice.web.domain': 'a.example', 'sluice.web.tls': 'off' } };
  const { routes } = translate(sampleSnapshot([sampleContainer(1), sampleContainer(2, other)]));
  assert.deepEqual([routes.length, routes[0]?.upstreams.length, routes[0]?.https], [1, 2, 'auto']);
});

test('a domain in two sites of one container belongs to the first, and that is reported', () => {
  const twice = labels({ 'sluice.api.domain': 'a.example', 'sluice.api.port': '81' });
  assert.deepEqual(codes([sampleContainer(1, twice)]), [['domain_taken', 'container app-1 (000000000001)']]);
  assert.equal(translate(sampleSnapshot([sampleContainer(1, twice)])).routes[0]?.upstreams.length, 1);
});

test('invalid labels affect only their own site, not other sites, the pool or other containers', () => {
  const containers = [
    sampleContainer(1),
    sampleContainer(2, labels({ 'sluice.rate_limit': '10', 'sluice.api.domain': 'b.example' })),
    sampleContainer(3, { labels: { 'sluice.domain': 'c.example' } }),
  ];
  const { routes, problems, readings } = translate(sampleSnapshot(containers));
  assert.deepEqual(
    routes.map(({ domain, upstreams }) => [domain, upstreams.length]),
    [
      ['a.example', 1],
      ['b.example', 1],
      ['c.example', 1],
    ],
  );
  assert.deepEqual(
    problems.map(({ code, domain }) => [code, domain]),
    [['bad_label', 'a.example']],
  );
  assert.deepEqual(
    readings.map(({ name, section, accepted, resolved }) => [name, section, accepted.holds, resolved.holds]),
    [
      ['app-1', null, true, true],
      ['app-2', 'api', true, true],
      ['app-2', null, false, false],
      ['app-3', null, true, true],
    ],
  );
});

test('a container without a reachable address keeps its domain known, and status says what would change that', () => {
  const { routes, problems, readings } = translate(sampleSnapshot([sampleContainer(1, { exposedTcpPorts: [] })]));
  assert.deepEqual(routes[0]?.upstreams, []);
  assert.equal(problems[0]?.code, 'no_address');
  assert.match(readings[0]?.change ?? '', /sluice\.port=PORT/);
});

test('excessive data from the engine is a problem of its container, and the others are routed', () => {
  const odd = sampleContainer(1, { networks: [{ name: 'shop', id: 'shop-id', ipv4: 'no address', ipv6: null }] });
  const { routes, problems } = translate(sampleSnapshot([odd, sampleContainer(2, { labels: { 'sluice.domain': 'b.example' } })]));
  assert.deepEqual(
    routes.map(({ domain }) => domain),
    ['b.example'],
  );
  assert.deepEqual(
    problems.map(({ code, domain }) => [code, domain]),
    [['bad_route', 'a.example']],
  );
});

test('a container with many mistakes for many domains reports a limited number, and the others are routed', () => {
  const range = Array.from({ length: 600 }, (_, at) => at.toString(36));
  const domains = range.map((one) => `${one}.example`);
  const names = { 'sluice.domain': domains.join() };
  const mistakes = Object.fromEntries(range.map((one) => [`sluice.header.${one} `, 'x']));
  const differences = Object.fromEntries(range.map((one) => [`sluice.header.X-${one}`, 'x']));
  for (const labels of [mistakes, differences]) {
    const odd = sampleContainer(3, { labels: { ...names, ...labels } });
    const { routes, problems } = translate(sampleSnapshot([sampleContainer(1), sampleContainer(2, { labels: names }), odd]));
    assert.equal(routes.length, domains.length);
    assert.equal(problems.length, MAX_PROBLEMS_PER_ORIGIN);
    assert.match(problems.at(-1)?.message ?? '', /further problems of this container are not listed$/);
  }
});

test('containers that share many domains are compared once, not for each domain', (t) => {
  const names = { 'sluice.domain': Array.from({ length: 3_000 }, (_, at) => `${at}.example`).join() };
  const costWith = (labels: number): number => {
    const more = Object.fromEntries(Array.from({ length: labels }, (_, at) => [`sluice.header.${at.toString(36)}`, 'x']));
    const containers = [sampleContainer(1, { labels: names }), sampleContainer(2, { labels: { ...names, ...more } })];
    const costs = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage();
      const { routes } = translate(sampleSnapshot(containers));
      const { user, system } = process.cpuUsage(before);
      assert.equal(routes.length, 3_000);
      return user + system;
    });
    return Math.min(...costs);
  };
  const [few, many] = [costWith(10), costWith(1_000)];
  t.diagnostic(`${few} and ${many} µs`);
  // A comparison for each domain would take a hundred times as long.
  assert.ok(many < 8 * few, `${few} and ${many} µs`);
});

test('a container with many sites and many labels that concern all of them becomes no gigabytes of mistakes', () => {
  const range = Array.from({ length: 3_000 }, (_, at) => at);
  const sites = range.map((one) => [`sluice.s${one}.port`, '1']);
  const concerning = range.map((one) => [`sluice.jwt.${one}`, 'x']);
  const odd = sampleContainer(2, { labels: Object.fromEntries([...sites, ...concerning]) });
  const { routes, readings } = translate(sampleSnapshot([sampleContainer(1), odd]));
  assert.equal(routes.length, 1);
  assert.ok(readings.length > 3_000);
  for (const { accepted } of readings) assert.ok(accepted.reason.length < 2_100, `${accepted.reason.length}`);
});

test('the same snapshot gives the same bytes, and unchanged routes are the same objects', () => {
  const snapshot = () => sampleSnapshot([sampleContainer(1), sampleContainer(2, { labels: { 'sluice.domain': 'b.example' } })]);
  const one = translate(snapshot());
  const other = translate(snapshot());
  assert.equal(JSON.stringify(one), JSON.stringify(other));
  assert.equal(one.routes[0], other.routes[0]);
});

test('a reading lists up to ten others of its pools, even if its own site is not in them', () => {
  const containers = [
    sampleContainer(1, labels({ 'sluice.domain': 'a.example, b.example' })),
    sampleContainer(2),
    sampleContainer(3, labels({ 'sluice.hold': 'x' })),
    sampleContainer(4, { status: 'exited' }),
    sampleContainer(5, labels({ 'sluice.domain': 'b.example' })),
    sampleContainer(6, labels({ 'sluice.domain': 'c.example' })),
  ];
  const peers = (containers: readonly Container[]) => translate(sampleSnapshot(containers)).readings.map((reading) => reading.peers);
  assert.deepEqual(
    peers(containers).map(({ count, names }) => `${count} ${names}`),
    ['2 app-2,app-5', '1 app-1', '2 app-1,app-2', '2 app-1,app-2', '1 app-1', '0 '],
  );
  const many = peers(Array.from({ length: 14 }, (_, at) => sampleContainer(at + 1)));
  assert.deepEqual(many[2], { count: 13, names: [1, 2, 4, 5, 6, 7, 8, 9, 10, 11].map((number) => `app-${number}`) });
});
