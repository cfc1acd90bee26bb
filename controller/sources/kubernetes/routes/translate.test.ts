import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSpec } from '../../../../shared/route.ts';
import { MAX_LINE_BYTES } from '../../../../shared/wire/apply.ts';
import { MAX_PROBLEMS_PER_ORIGIN } from '../../problem-list.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';
import type { ClusterSnapshot } from './cluster-snapshot.ts';
import { translate } from './translate.ts';

/** A generator of numbers in [0, 1), always the same sequence. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

const HOSTS = ['a.example', 'b.example', '*.example', 'Wrong_host', '*'];
const PATHS = ['/', '/x', '/x/y', '/z/*', '/x'];
const TYPES = ['Prefix', 'Exact', 'ImplementationSpecific'];
const ANNOTATIONS = [{}, {}, { 'sluice.dev/rate_limit': '5/s' }, { 'sluice.dev/rate_limit': 'many' }, { 'sluice.dev/header.X-A': 'b' }];

/** Objects of a cluster with every mistake that they may contain. */
function someObjects(seed: number) {
  const next = sequence(seed);
  const one = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const names = ['one', 'two', 'three', 'gone'];
  const parts = names.slice(0, 3).map((name, at) => serviceOf(`default/${name}`, `10.0.${Math.floor(next() * 4)}.${at}`, one(SERVICES)));
  const ingresses = Array.from({ length: 8 }, (_, at): SampleObject => {
    const paths = Array.from({ length: 1 + Math.floor(next() * 3) }, () => ({
      path: one(PATHS),
      pathType: one(TYPES),
      backend: { service: { name: one(names), port: one([{ number: 80 }, { name: 'http' }, { number: 81 }]) } },
    }));
    const host = one(HOSTS);
    return {
      name: `default/i${at}`,
      metadata: { annotations: one(ANNOTATIONS), creationTimestamp: `2026-01-01T00:00:0${Math.floor(next() * 4)}Z` },
      spec: { ingressClassName: one(['sluice', 'sluice', 'other']), rules: [{ ...(host !== '*' && { host }), http: { paths } }] },
    };
  });
  const services = parts.map(({ service }) => service);
  const slices = parts.map(({ slice }) => slice);
  return { ingresses, services, slices };
}
const SERVICES = [{}, {}, { 'sluice.domain': 'a.example', 'sluice.tls': 'off' }, { 'sluice.domain': 'svc.example', 'sluice.port': 'no' }];

const bytesOf = (snapshot: ClusterSnapshot): string => {
  const { routes, certificates, problems, readings, refusals, lastGood } = translate(snapshot);
  return JSON.stringify({ routes, certificates, problems, readings, refusals, lastGood: [...lastGood.keys()] });
};

/** The same objects with the same ages, in an order of the map that depends on the seed, each of them a new object. */
function shuffled(snapshot: ClusterSnapshot, seed: number): ClusterSnapshot {
  const next = sequence(seed);
  const turned = <T>(map: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map(
      [...map]
        .map(([key, value]) => [next(), key, structuredClone(value)] as const)
        .sort(([a], [b]) => a - b)
        .map(([, key, value]) => [key, value]),
    );
  const { ingresses, services, slices } = snapshot;
  return { ...snapshot, ingresses: turned(ingresses), services: turned(services), slices: turned(slices) };
}

test('the same objects give the same bytes, regardless of their order, and of whether they were translated before', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const snapshot = clusterOf(someObjects(seed));
    const first = bytesOf(snapshot);
    assert.equal(bytesOf(snapshot), first, `again, seed ${seed}`);
    assert.equal(bytesOf(shuffled(snapshot, seed)), first, `in another order, seed ${seed}`);
  }
});

test('after each of many changes the result is that of a cluster which never was different', () => {
  const kinds = ['ingresses', 'services', 'slices'] as const;
  for (let seed = 1; seed <= 20; seed++) {
    const next = sequence(seed);
    let snapshot = clusterOf(someObjects(seed));
    for (let change = 0; change < 20; change++) {
      translate(snapshot);
      const others = clusterOf(someObjects(seed * 100 + change));
      const kind = kinds[Math.floor(next() * kinds.length)] ?? 'slices';
      const changed = new Map<string, never>(snapshot[kind] as ReadonlyMap<string, never>);
      for (const [key, value] of others[kind])
        if (next() < 0.3) changed.delete(key);
        else if (next() < 0.5) changed.set(key, value as never);
      snapshot = { ...snapshot, [kind]: changed };
      assert.equal(bytesOf(snapshot), bytesOf(shuffled(snapshot, change)), `seed ${seed}, change ${change}`);
    }
  }
});

test('objects that have not changed keep their routes, and only the others are read again', () => {
  const names = ['one', 'two'];
  const parts = names.map((name, at) => serviceOf(`default/${name}`, `10.0.0.${at}`));
  const services = parts.map(({ service }) => service);
  const slices = parts.map(({ slice }) => slice);
  const snapshot = clusterOf({ services, slices, ingresses: names.map((name) => ingressOf(`default/${name}`, `${name}.example`, name)) });
  const [one, two] = translate(snapshot).routes;
  const moved = clusterOf({ slices: [serviceOf('default/two', '10.0.0.9').slice] }).slices;
  const next = translate({ ...snapshot, slices: new Map([...snapshot.slices, ...moved]) }).routes;
  assert.equal(next[0], one);
  assert.deepEqual([two?.upstream, next[1]?.upstream], ['10.0.0.1:8080', '10.0.0.9:8080']);
});

test('an Ingress becomes a route whose blocks are its paths, the strictest first', () => {
  const { service, slice } = serviceOf('shop/web', '10.0.0.1');
  const backend = { service: { name: 'web', port: { name: 'http' } } };
  const rule = (path: string, pathType: string) => ({ path, pathType, backend });
  const ingress = {
    name: 'shop/web',
    metadata: { annotations: { 'sluice.dev/rate_limit': '5/s' } },
    spec: {
      ingressClassName: 'sluice',
      rules: [
        {
          host: 'Web.example',
          http: { paths: [rule('/a', 'Prefix'), rule('/', 'Prefix'), rule('/a', 'Exact'), rule('/a/long', 'Prefix')] },
        },
      ],
    },
  };
  const { routes, problems, readings } = translate(clusterOf({ services: [service], slices: [slice], ingresses: [ingress] }));
  const [route] = routes;
  assert.deepEqual(problems, []);
  assert.partialDeepStrictEqual(route, {
    domain: 'web.example',
    source: 'kubernetes',
    origin: 'ingress shop/web',
    https: 'off',
    rate_limit_rps: 5,
    upstreams: [{ address: '10.0.0.1:8080', state: 'healthy' }],
  });
  assert.deepEqual(
    route?.handles.map(({ match }) => match?.path),
    [['/a'], ['/a/long', '/a/long/*'], ['/a', '/a/*']],
  );
  assert.partialDeepStrictEqual(readings, [{ kind: 'ingress', name: 'shop/web', accepted: { holds: true }, resolved: { holds: true } }]);
});

/** What of a host of the namespace `shop` is routed if the namespace `odd` names the host too, with these paths. */
function sharedWith(paths: readonly string[], annotations: object = {}, endpoints: readonly object[] = []) {
  const [shop, odd] = [serviceOf('shop/app', '10.0.0.1'), serviceOf('odd/app', '10.0.0.2')];
  const backend = { service: { name: 'app', port: { number: 80 } } };
  const rules = [{ host: 'a.example', http: { paths: paths.map((path) => ({ path, pathType: 'Prefix', backend })) } }];
  const { routes, problems } = translate(
    clusterOf({
      ingresses: [
        ingressOf('shop/web', 'a.example', 'app'),
        { name: 'odd/web', metadata: { annotations }, spec: { ingressClassName: 'sluice', rules } },
      ],
      services: [shop.service, odd.service],
      slices: [shop.slice, { ...odd.slice, ...(endpoints.length > 0 && { endpoints }) }],
    }),
  );
  const [route] = routes;
  const served = route && [route, ...route.handles].flatMap(({ upstreams }) => upstreams.map(({ address }) => String(address)));
  return {
    isServed: served?.includes('10.0.0.1:8080'),
    size: JSON.stringify(route).length,
    problems: problems.map(({ message }) => message),
  };
}

const manyPaths = (count: number): string[] => Array.from({ length: count }, (_, at) => `/${at}`);

test('an object can’t keep a host that others share from being routed', () => {
  const long = sharedWith([`/${'x'.repeat(9_000)}`]);
  assert.deepEqual([long.isServed, long.problems], [true, ['a path is longer than 8000 characters']]);
  const many = sharedWith(manyPaths(20_001));
  assert.deepEqual([many.isServed, many.problems.length], [true, 2]);
  assert.match(many.problems[0] ?? '', /^a\.example: \/\d+ has no room left/);
  const endpoints = Array.from({ length: 10_001 }, (_, at) => ({ addresses: [`10.1.${at >> 8}.${at & 255}`] }));
  assert.deepEqual([sharedWith(['/x'], {}, endpoints).isServed, sharedWith(['/x'], {}, endpoints).problems], [true, []]);
});

/** The least processor time (µs) of three runs. */
function costOf(run: () => void): number {
  const costs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...costs);
}

test('the hosts of an Ingress with TLS are read in linear time', (t) => {
  const { spec, ...rest } = ingressOf('odd/web', 'a.example', 'app') as SampleObject & { readonly spec: object };
  const translated = (count: number) => {
    const hosts = Array.from({ length: count }, (_, at) => `h${at}.example`);
    const tls = [{ hosts: hosts.map((host) => `x${host}`), secretName: 'one' }, { hosts: ['*.example'] }];
    const ingress = {
      ...rest,
      spec: { ...spec, rules: hosts.map((host) => ({ host })), tls, defaultBackend: { service: { name: 'app' } } },
    };
    const { routes } = translate(clusterOf({ ingresses: [ingress] }));
    assert.deepEqual([routes.length, routes.find(({ domain }) => domain === 'h1.example')?.https], [count + 1, 'auto']);
  };
  const [few, many] = [costOf(() => translated(3_000)), costOf(() => translated(12_000))];
  t.diagnostic(`${few} and ${many} µs`);
  // In linear time four times as much, in quadratic time sixteen times.
  assert.ok(many < 8 * few, `${few} and ${many} µs`);
});

test('paths of slashes are read in linear time', (t) => {
  const read = (slashes: number) => {
    const paths = Array.from({ length: 240_000 / slashes }, (_, at) => `/${at}${'/'.repeat(slashes)}x`);
    assert.deepEqual(sharedWith(paths).problems, []);
  };
  const [short, long] = [costOf(() => read(1_000)), costOf(() => read(7_900))];
  t.diagnostic(`${short} and ${long} µs`);
  // The same number of slashes. In quadratic time, the long paths would take eight times as long.
  assert.ok(long < 2 * short, `${short} and ${long} µs`);
});

test('the annotations of one object can’t become gigabytes of routes', () => {
  const { service, slice } = serviceOf('odd/app', '10.0.0.2');
  const header = Array.from({ length: 1_000 }, (_, at) => `X-${at} ${'v'.repeat(200)}`).join('\n');
  const { spec, ...ingress } = ingressOf('odd/web', 'a.example', 'app', { 'sluice.dev/header': `{\n${header}\n}` }) as SampleObject & {
    readonly spec: { readonly rules: readonly object[] };
  };
  const rules = manyPaths(1_000).map((_, at) => ({ ...spec.rules[0], host: `h${at}.example` }));
  const { routes, problems } = translate(
    clusterOf({ ingresses: [{ ...ingress, spec: { ...spec, rules } }], services: [service], slices: [slice] }),
  );
  assert.ok(routes.length > 100 && routes.length < 200, `${routes.length}`);
  assert.match(problems.at(-1)?.message ?? '', /^h\d+\.example: \/ has no room left/);
});

test('an object with many mistakes reports a limited number, and those of others are reported too', () => {
  const { spec, ...rest } = ingressOf('odd/web', 'a.example', 'none') as SampleObject & { readonly spec: object };
  const paths = manyPaths(5_000).map((path) => ({ path, pathType: 'Exact', backend: { service: { name: 'none', port: { number: 80 } } } }));
  const odd = { ...rest, spec: { ...spec, rules: [{ host: 'odd.example', http: { paths } }] } };
  const { problems, refusals } = translate(clusterOf({ ingresses: [odd, ingressOf('shop/web', 'a.example', 'none')] }));
  assert.deepEqual([problems.length, refusals.length], [MAX_PROBLEMS_PER_ORIGIN + 1, MAX_PROBLEMS_PER_ORIGIN + 1]);
  assert.match(problems[MAX_PROBLEMS_PER_ORIGIN - 1]?.message ?? '', /further problems of this object are not listed$/);
  assert.equal(problems.at(-1)?.origin, 'ingress shop/web');
});

test('an object decides nothing about the whole host of another namespace', () => {
  const [shop, odd] = [serviceOf('shop/app', '10.0.0.1'), serviceOf('odd/app', '10.0.0.2', { 'sluice.domain': 'a.example' })];
  const { spec, ...ingress } = ingressOf('odd/web', 'a.example', 'app', {
    'sluice.dev/listen': '9999',
    'sluice.dev/https_redirect': 'off',
    'sluice.dev/under_attack': 'on',
    'sluice.dev/header.X-Odd': 'yes',
  }) as SampleObject & { readonly spec: object };
  const paths = [{ path: '/odd', pathType: 'Prefix', backend: { service: { name: 'app', port: { number: 80 } } } }];
  const rules = [{ host: 'a.example', http: { paths } }];
  const { routes } = translate(
    clusterOf({
      ingresses: [ingressOf('shop/web', 'a.example', 'app'), { ...ingress, spec: { ...spec, rules, tls: [{ hosts: ['a.example'] }] } }],
      services: [shop.service, odd.service],
      slices: [shop.slice, odd.slice],
    }),
  );
  const { ports, https, https_redirect, under_attack, headers, handles } = routes[0] as RouteSpec;
  assert.deepEqual([ports, https, https_redirect, under_attack, headers], [undefined, 'off', undefined, false, []]);
  assert.deepEqual(
    handles.map((block) => block.headers.map(({ name }) => name)),
    [['X-Odd'], []],
  );
});

test('a host whose paths would be too large together is routed without the latest of them', () => {
  const header = Array.from({ length: 1_000 }, (_, at) => `X-${at} ${'v'.repeat(200)}`).join('\n');
  const { isServed, size, problems } = sharedWith(manyPaths(3_000), { 'sluice.dev/header': `{\n${header}\n}` });
  assert.equal(isServed, true);
  assert.ok(size > 10_000_000 && size < MAX_LINE_BYTES, `${size}`);
  assert.match(problems.at(-1) ?? '', /has no room left/);
});

test('the default backend of an Ingress gets no requests of a host that has a path for all of them', () => {
  const [app, fallback] = [serviceOf('shop/app', '10.0.0.1'), serviceOf('shop/fallback', '10.0.0.2')];
  const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
  const paths = (...all: string[]) => all.map((path) => ({ path, pathType: 'Prefix', backend: backend('app') }));
  const targets = (...all: string[]) => {
    const rules = [{ host: 'a.example', http: { paths: paths(...all) } }];
    const ingress = { name: 'shop/web', spec: { ingressClassName: 'sluice', defaultBackend: backend('fallback'), rules } };
    const parts = [app, fallback];
    const { routes } = translate(
      clusterOf({ ingresses: [ingress], services: parts.map(({ service }) => service), slices: parts.map(({ slice }) => slice) }),
    );
    const route = routes.find(({ domain }) => domain === 'a.example');
    assert.ok(route);
    return [...route.handles.map(({ path, match, upstreams }) => [path, match?.path, upstreams[0]?.address]), route.upstreams[0]?.address];
  };
  assert.deepEqual(targets('/api', '/').at(-1), '10.0.0.1:8080');
  assert.equal(targets('/api', '/').length, targets('/api').length);
  assert.deepEqual(targets('/api').at(-1), '10.0.0.2:8080');
});
