import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSpec } from '../../../../shared/route.ts';
import type { ClusterTranslation } from '../routes/cluster-snapshot.ts';
import { translate } from '../routes/translate.ts';
import type { StatusCondition } from '../status/conditions.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';

const CLASS: SampleObject = { name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } };
const HTTP = { name: 'http', protocol: 'HTTP', port: 80 };
const gateway = (name: string, listeners: readonly object[] = [HTTP], more: object = {}): SampleObject => ({
  name,
  spec: { gatewayClassName: 'sluice', listeners, ...more },
});
const to = (name: string, more: object = {}) => ({ name, port: 80, ...more });
const route = (name: string, spec: object, parent: object = { name: 'main' }): SampleObject => ({
  name,
  spec: { parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...parent }], ...spec },
});
const prefix = (value: string) => ({ path: { type: 'PathPrefix', value } });

const APPS = ['a', 'b', 'c'].map((name, nth) => serviceOf(`n/${name}`, `10.0.0.${nth + 1}`));
const FOREIGN = serviceOf('other/far', '10.0.9.9');
type Objects = Parameters<typeof clusterOf>[0];
const translated = (objects: Objects): ClusterTranslation =>
  translate(
    clusterOf({
      gatewayClasses: [CLASS],
      services: [...APPS, FOREIGN].map(({ service }) => service),
      slices: [...APPS, FOREIGN].map(({ slice }) => slice),
      gateways: [gateway('n/main')],
      ...objects,
    }),
  );

const routeOf = ({ routes }: ClusterTranslation, domain: string): RouteSpec => {
  const found = routes.find((one) => one.domain === domain);
  assert.ok(found, `${domain} among ${routes.map((one) => one.domain).join()}`);
  return found;
};
/** Each block as its condition and the address that it leads to, or its answer. */
const blocksOf = (result: ClusterTranslation, domain: string) =>
  routeOf(result, domain).handles.map(({ match, upstreams, respond }) => {
    const { name: _, ...condition } = match ?? {};
    return [JSON.stringify(condition), upstreams[0]?.address ?? respond?.status];
  });

function statusOf({ statuses }: ClusterTranslation, kind: string, name: string): Record<string, unknown> {
  const found = statuses.find(({ resource, meta }) => resource.kind === kind && `${meta.namespace}/${meta.name}` === name);
  assert.ok(found, `the status of ${kind} ${name}`);
  const context = {
    current: {},
    isWritten: false,
    addresses: [{ kind: 'ip', value: '192.0.2.1' }],
    refused: new Map(),
    now: 'now',
  } as const;
  return { ...found.build(context) };
}
const told = (conditions: unknown) =>
  (conditions as readonly StatusCondition[]).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
/** The conditions of a route at its only parent. */
const routeConditions = (result: ClusterTranslation, name: string, kind = 'HTTPRoute') => {
  const { parents } = statusOf(result, kind, name) as { parents: { conditions: unknown }[] };
  assert.equal(parents.length, 1);
  return told(parents[0]?.conditions);
};
const GOOD = ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs'];

test('the matches of a host are in the order of the API: exact paths, the longest prefix, methods, headers, parameters, then the oldest', () => {
  const rules = [
    { backendRefs: [to('a')] },
    { matches: [prefix('/x')], backendRefs: [to('a')] },
    { matches: [{ ...prefix('/x'), queryParams: [{ name: 'q', value: '1' }] }], backendRefs: [to('a')] },
    { matches: [{ ...prefix('/x'), headers: [{ name: 'H', value: '*' }] }], backendRefs: [to('a')] },
    { matches: [{ ...prefix('/x'), method: 'POST' }], backendRefs: [to('a')] },
    { matches: [prefix('/x/y'), { path: { type: 'Exact', value: '/x' } }], backendRefs: [to('a')] },
  ];
  const younger = { hostnames: ['h.test'], rules: [{ matches: [prefix('/x')], backendRefs: [to('b')] }] };
  const result = translated({ httpRoutes: [route('n/old', { hostnames: ['h.test'], rules }), route('n/young', younger)] });
  assert.deepEqual(blocksOf(result, 'h.test'), [
    ['{"path":["/x"]}', '10.0.0.1:8080'],
    ['{"path":["/x/y","/x/y/*"]}', '10.0.0.1:8080'],
    ['{"path":["/x","/x/*"],"method":["POST"]}', '10.0.0.1:8080'],
    ['{"path":["/x","/x/*"],"header":[{"name":"H","values":["*"],"exact":true}]}', '10.0.0.1:8080'],
    ['{"path":["/x","/x/*"],"query":[{"name":"q","values":["1"]}]}', '10.0.0.1:8080'],
    ['{"path":["/x","/x/*"]}', '10.0.0.1:8080'],
    ['{"path":["/x","/x/*"]}', '10.0.0.2:8080'],
    ['{}', '10.0.0.1:8080'],
  ]);
  assert.deepEqual(routeConditions(result, 'n/young'), GOOD);
});

test('of the matches of a GRPCRoute, one with a service comes before one with a method of any service, and that before all calls', () => {
  const matching = (method?: object) => ({ ...(method && { matches: [{ method }] }), backendRefs: [to('a')] });
  const rules = [matching(), matching({ method: 'Put' }), matching({ service: 's' }), matching({ service: 's', method: 'Put' })];
  const result = translated({ grpcRoutes: [route('n/calls', { hostnames: ['h.test'], rules })] });
  assert.deepEqual(
    blocksOf(result, 'h.test').map(([condition]) => condition),
    ['{"path":["/s/Put"]}', '{"path":["/s","/s/*"]}', '{"path_regexp":["^(?:/[^/]+/Put)$"]}', '{}'],
  );
});

test('a route is attached where a listener allows its kind, its namespace and one of its hosts, and its status says why not', () => {
  const selected = { namespaces: { from: 'Selector', selector: { matchLabels: { open: 'yes' } } } };
  const listeners = [
    { ...HTTP, hostname: '*.h.test' },
    { ...HTTP, name: 'selected', port: 8080, hostname: 'sel.test', allowedRoutes: selected },
    { ...HTTP, name: 'grpc', port: 8081, allowedRoutes: { kinds: [{ kind: 'GRPCRoute' }], namespaces: { from: 'All' } } },
  ];
  const rules = [{ backendRefs: [to('far')] }];
  const from = (section: string) => ({ name: 'main', namespace: 'n', sectionName: section });
  const result = translated({
    gateways: [gateway('n/main', listeners)],
    namespaces: [{ name: '/other', metadata: { labels: { open: 'yes' } } }, { name: '/third' }],
    httpRoutes: [
      route(
        'n/mine',
        { hostnames: ['x.y.h.test', 'elsewhere.test'], rules: [{ backendRefs: [to('a')] }] },
        { name: 'main', sectionName: 'http' },
      ),
      route('n/host', { hostnames: ['elsewhere.test'] }, { name: 'main', sectionName: 'http' }),
      route('n/section', {}, { name: 'main', sectionName: 'none' }),
      route('n/port', {}, { name: 'main', sectionName: 'http', port: 8080 }),
      route('n/kind', {}, { name: 'main', sectionName: 'grpc' }),
      route('other/open', { rules }, from('selected')),
      route('third/closed', { rules }, from('selected')),
      route('n/theirs', {}, { name: 'unknown' }),
    ],
  });
  assert.deepEqual(routeConditions(result, 'n/mine'), GOOD);
  assert.equal(routeConditions(result, 'n/host')[0], 'Accepted=False NoMatchingListenerHostname');
  assert.equal(routeConditions(result, 'n/section')[0], 'Accepted=False NoMatchingParent');
  assert.equal(routeConditions(result, 'n/port')[0], 'Accepted=False NoMatchingParent');
  assert.equal(routeConditions(result, 'n/kind')[0], 'Accepted=False NotAllowedByListeners');
  assert.deepEqual(routeConditions(result, 'other/open'), GOOD);
  assert.equal(routeConditions(result, 'third/closed')[0], 'Accepted=False NotAllowedByListeners');
  assert.deepEqual(statusOf(result, 'HTTPRoute', 'n/theirs'), {}, 'a Gateway that is not ours');
  assert.deepEqual(
    (statusOf(result, 'Gateway', 'n/main').listeners as { name: string; attachedRoutes: number }[]).map(
      ({ attachedRoutes }) => attachedRoutes,
    ),
    [1, 1, 0],
  );
});

test('the most specific listener of a port does not share its hosts, and each port has its own', () => {
  const listeners = [HTTP, { ...HTTP, name: 'wild', hostname: '*.h.test' }, { ...HTTP, name: 'other', port: 8080 }];
  const at = (section: string) => ({ name: 'main', sectionName: section });
  const rules = (name: string) => ({ rules: [{ matches: [prefix(`/${name}`)], backendRefs: [to(name)] }] });
  const result = translated({
    gateways: [gateway('n/main', listeners)],
    httpRoutes: [route('n/a', rules('a'), at('http')), route('n/b', rules('b'), at('wild')), route('n/c', rules('c'), at('other'))],
  });
  assert.deepEqual(blocksOf(result, '*.h.test'), [
    ['{"path":["/b","/b/*"],"port":[80]}', '10.0.0.2:8080'],
    ['{"path":["/c","/c/*"],"port":[8080]}', '10.0.0.3:8080'],
  ]);
  assert.deepEqual(blocksOf(result, '*'), [
    ['{"path":["/a","/a/*"],"port":[80]}', '10.0.0.1:8080'],
    ['{"path":["/c","/c/*"],"port":[8080]}', '10.0.0.3:8080'],
  ]);
  const { wildcard, ports, respond, https_redirect } = routeOf(result, '*.h.test');
  assert.deepEqual([wildcard, ports, respond?.status, https_redirect], ['many', [80, 8080], 404, false]);
});

test('a backend that is missing, of another kind or not granted is 500 for its share, one without endpoints 503', () => {
  const backends: [object, number | string, string][] = [
    [to('a'), '10.0.0.1:8080', 'ResolvedRefs=True ResolvedRefs'],
    [to('absent'), 500, 'ResolvedRefs=False BackendNotFound'],
    [{ ...to('a'), port: 81 }, 500, 'ResolvedRefs=False BackendNotFound'],
    [{ ...to('a'), kind: 'Bucket', group: 'example.org' }, 500, 'ResolvedRefs=False InvalidKind'],
    [{ ...to('far'), namespace: 'other' }, 500, 'ResolvedRefs=False RefNotPermitted'],
    [to('idle'), 503, 'ResolvedRefs=True ResolvedRefs'],
  ];
  const idle: SampleObject = { name: 'n/idle', spec: { ports: [{ name: 'http', port: 80 }] } };
  for (const [backend, answer, condition] of backends) {
    const result = translated({
      services: [...APPS.map(({ service }) => service), FOREIGN.service, idle],
      httpRoutes: [route('n/r', { hostnames: ['h.test'], rules: [{ backendRefs: [{ ...backend, weight: 1 }, to('b', { weight: 3 })] }] })],
    });
    const shares = [
      ['{"share":{"from":0,"to":1,"of":4}}', answer],
      ['{"share":{"from":1,"to":4,"of":4}}', '10.0.0.2:8080'],
    ];
    assert.deepEqual(blocksOf(result, 'h.test'), shares, JSON.stringify(backend));
    assert.deepEqual(routeConditions(result, 'n/r'), [GOOD[0], condition]);
  }
});

test('a ReferenceGrant allows exactly what it names', () => {
  const grant = (from: object, target: object, name = 'other/grant'): SampleObject => ({
    name,
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'n', ...from }],
      to: [{ group: '', kind: 'Service', ...target }],
    },
  });
  const table: [SampleObject, boolean][] = [
    [grant({}, {}), true],
    [grant({}, { name: 'far' }), true],
    [grant({}, { name: 'near' }), false],
    [grant({ namespace: 'm' }, {}), false],
    [grant({ kind: 'GRPCRoute' }, {}), false],
    [grant({}, { kind: 'Secret' }), false],
    [grant({}, {}, 'n/grant'), false],
  ];
  for (const [one, isAllowed] of table) {
    const backendRefs = [{ ...to('far'), namespace: 'other' }];
    const result = translated({ grants: [one], httpRoutes: [route('n/r', { hostnames: ['h.test'], rules: [{ backendRefs }] })] });
    assert.deepEqual(blocksOf(result, 'h.test'), [['{}', isAllowed ? '10.0.9.9:8080' : 500]], JSON.stringify(one));
  }
});

test('the port of a redirect is that of the filter, else that of its scheme, else that of the listener', () => {
  const location = (port: number, requestRedirect: object) => {
    const filters = [{ type: 'RequestRedirect', requestRedirect }];
    const result = translated({
      gateways: [gateway('n/main', [{ ...HTTP, port }])],
      httpRoutes: [route('n/r', { hostnames: ['h.test'], rules: [{ filters }] })],
    });
    return routeOf(result, 'h.test').handles[0]?.redirects[0]?.to;
  };
  assert.equal(location(80, { hostname: 'new.test' }), 'http://new.test{uri}');
  assert.equal(location(8080, { hostname: 'new.test' }), 'http://new.test:8080{uri}');
  assert.equal(location(8080, { scheme: 'https' }), 'https://{host}{uri}');
  assert.equal(location(8080, { scheme: 'https', port: 8443 }), 'https://{host}:8443{uri}');
  assert.equal(location(8080, { port: 80 }), 'http://{host}{uri}');
});

test('prefixes are replaced by whole segments, and text of a filter is text', () => {
  const rewritesOf = (value: string, replacePrefixMatch: string) => {
    const filters = [{ type: 'URLRewrite', urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch } } }];
    const rules = [{ matches: [prefix(value)], filters, backendRefs: [to('a')] }];
    const result = translated({ httpRoutes: [route('n/r', { hostnames: ['h.test'], rules })] });
    return routeOf(result, 'h.test').handles[0]?.rewrites?.map(({ from, to: target }) => `${from} ${target}`);
  };
  assert.deepEqual(rewritesOf('/a', '/b'), ['/a /b', '/a/* /b/{remainder}']);
  assert.deepEqual(rewritesOf('/a/', '/b/'), ['/a /b', '/a/* /b/{remainder}']);
  assert.deepEqual(rewritesOf('/a', '/'), ['/a /', '/a/* /{remainder}']);
  assert.deepEqual(rewritesOf('/', '/b'), ['/* /b/{remainder}']);
  assert.deepEqual(rewritesOf('/a', '/{host}'), ['/a /\\{host\\}', '/a/* /\\{host\\}/{remainder}']);
});

test('a filter that is not supported makes its rule answer with 500, and its route is refused only if no rule is left', () => {
  const wrong = { matches: [prefix('/wrong')], filters: [{ type: 'ExtensionRef', extensionRef: { group: 'x', kind: 'Y', name: 'z' } }] };
  const right = { matches: [prefix('/right')], backendRefs: [to('a')] };
  const some = translated({ httpRoutes: [route('n/r', { hostnames: ['h.test'], rules: [wrong, right] })] });
  assert.deepEqual(
    blocksOf(some, 'h.test').map(([, answer]) => answer),
    [500, '10.0.0.1:8080'],
  );
  assert.deepEqual(routeConditions(some, 'n/r'), [...GOOD, 'PartiallyInvalid=True UnsupportedValue']);
  const all = translated({ httpRoutes: [route('n/r', { hostnames: ['h.test'], rules: [wrong] })] });
  assert.equal(routeConditions(all, 'n/r')[0], 'Accepted=False UnsupportedValue');
});

test('copies go to the backends of mirrors, each by its fraction, and a missing backend is reported', () => {
  const mirror = (name: string, more: object = {}) => ({ type: 'RequestMirror', requestMirror: { backendRef: to(name), ...more } });
  const filters = [
    mirror('b', { percent: 30 }),
    mirror('c', { fraction: { numerator: 1, denominator: 4 } }),
    mirror('absent'),
    mirror('b'),
  ];
  const rules = [{ filters, backendRefs: [to('a')] }];
  const result = translated({ httpRoutes: [route('n/r', { hostnames: ['h.test'], rules })] });
  const [handle] = routeOf(result, 'h.test').handles;
  assert.deepEqual(
    handle?.mirrors?.map(({ upstreams, fraction }) => [upstreams[0]?.address, fraction && `${fraction.numerator}/${fraction.denominator}`]),
    [
      ['10.0.0.2:8080', '30/100'],
      ['10.0.0.3:8080', '1/4'],
      ['10.0.0.2:8080', undefined],
    ],
  );
  assert.deepEqual(routeConditions(result, 'n/r'), [GOOD[0], 'ResolvedRefs=False BackendNotFound']);
});

test('a Gateway says what is wrong with its listeners, and serves the others', () => {
  const listeners = [
    HTTP,
    { name: 'udp', protocol: 'UDP', port: 53 },
    { name: 'https', protocol: 'HTTPS', port: 443, tls: { certificateRefs: [{ name: 'absent' }] } },
    { ...HTTP, name: 'kinds', port: 8080, allowedRoutes: { kinds: [{ kind: 'TLSRoute' }, { kind: 'HTTPRoute' }] } },
  ];
  const status = statusOf(translated({ gateways: [gateway('n/main', listeners)] }), 'Gateway', 'n/main');
  assert.deepEqual(told(status.conditions), ['Accepted=True ListenersNotValid', 'Programmed=True Programmed']);
  assert.deepEqual(status.addresses, [{ type: 'IPAddress', value: '192.0.2.1' }]);
  const own = status.listeners as { name: string; conditions: unknown; supportedKinds: { kind: string }[] }[];
  assert.deepEqual(
    own.map(({ name, conditions, supportedKinds }) => [name, supportedKinds.map(({ kind }) => kind).join(), ...told(conditions)]),
    [
      ['http', 'HTTPRoute,GRPCRoute', 'Accepted=True Accepted', 'Programmed=True Programmed', 'ResolvedRefs=True ResolvedRefs'],
      ['udp', '', 'Accepted=False UnsupportedProtocol', 'Programmed=False Invalid', 'ResolvedRefs=True ResolvedRefs'],
      ['https', 'HTTPRoute,GRPCRoute', 'Accepted=True Accepted', 'Programmed=False Invalid', 'ResolvedRefs=False InvalidCertificateRef'],
      ['kinds', 'HTTPRoute', 'Accepted=True Accepted', 'Programmed=True Programmed', 'ResolvedRefs=False InvalidRouteKinds'],
    ],
  );
});

test('an Ingress and a Gateway share a host: the more specific of their paths comes first', () => {
  const rules = [{ matches: [prefix('/api')], backendRefs: [to('a')] }];
  const result = translated({
    ingresses: [ingressOf('n/i', 'h.test', 'b')],
    httpRoutes: [route('n/r', { hostnames: ['h.test'], rules })],
  });
  assert.deepEqual(
    blocksOf(result, 'h.test').map(([, answer]) => answer),
    ['10.0.0.1:8080', '10.0.0.2:8080'],
  );
});

test('a route of another namespace can’t keep a host that others share from being routed', () => {
  const exact = (value: string) => ({ path: { type: 'Exact', value } });
  const filters = [
    {
      type: 'ResponseHeaderModifier',
      responseHeaderModifier: { set: Array.from({ length: 16 }, (_, at) => ({ name: `X-${at}`, value: 'v'.repeat(4_000) })) },
    },
  ];
  /** With 2,048 blocks. */
  const large = (name: string, more: object = {}) =>
    route(
      `other/${name}`,
      {
        hostnames: ['h.test'],
        rules: Array.from({ length: 16 }, (_, rule) => ({
          matches: Array.from({ length: 8 }, (_, at) => exact(`/${name}/${rule}/${at}`)),
          backendRefs: Array.from({ length: 16 }, () => to('far')),
          ...more,
        })),
      },
      { name: 'main', namespace: 'n' },
    );
  const many = Array.from({ length: 10 }, (_, at) => large(`r${at}`));
  for (const [others, refused] of [
    [many, 6],
    [[large('r', { filters })], 1],
  ] as const) {
    const own = route('n/r', { hostnames: ['h.test'], rules: [{ backendRefs: [to('a')] }] });
    const open = [{ ...HTTP, allowedRoutes: { namespaces: { from: 'All' } } }];
    const result = translated({ gateways: [gateway('n/main', open)], httpRoutes: [own, ...others] });
    assert.deepEqual(blocksOf(result, 'h.test').at(-1), ['{}', '10.0.0.1:8080']);
    const messages = result.problems.map(({ origin, message }) => `${origin}: ${message}`);
    assert.equal(messages.filter((one) => /^httproute other\/r\d?: h\.test has no room left/.test(one)).length, refused);
  }
});

test('the same objects give the same routes, regardless of their order', () => {
  const objects = clusterOf({
    gatewayClasses: [CLASS],
    services: APPS.map(({ service }) => service),
    slices: APPS.map(({ slice }) => slice),
    gateways: [gateway('n/main'), gateway('n/second', [{ ...HTTP, hostname: '*.test' }])],
    httpRoutes: ['a', 'b', 'c'].map((name) =>
      route(`n/${name}`, { hostnames: ['h.test', `${name}.test`], rules: [{ backendRefs: [to(name)] }] }),
    ),
  });
  const reversed = { ...objects };
  for (const [kind, map] of Object.entries(objects))
    if (map instanceof Map) Object.assign(reversed, { [kind]: new Map([...map].reverse()) });
  const textOf = ({ routes, certificates }: ClusterTranslation) => JSON.stringify([routes, certificates]);
  assert.equal(textOf(translate(reversed)), textOf(translate(objects)));
});
