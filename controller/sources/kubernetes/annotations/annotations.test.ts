import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RouteSpec } from '../../../../shared/route.ts';
import { translate } from '../routes/translate.ts';
import { clusterOf, ingressOf, serviceOf } from '../testing/cluster-snapshot.ts';

const HASH = '$2b$04$abcdefghijklmnopqrstuuF1xk7vYb0X2m5r8Q3wqHnUe1JbKzDiS';

type Users = string | null;
type Extra = { readonly auth?: ReturnType<typeof serviceOf>; readonly users?: Users };

function translated(annotations: Readonly<Record<string, string>>, { auth, users = null }: Extra = {}) {
  const app = serviceOf('shop/web', '10.0.0.1');
  const { routes, problems } = translate(
    clusterOf({
      ingresses: [ingressOf('shop/web', 'shop.test', 'web', annotations)],
      services: [app.service, ...(auth ? [auth.service] : [])],
      slices: [app.slice, ...(auth ? [auth.slice] : [])],
      users: users === null ? [] : [{ name: 'shop/team', data: { auth: Buffer.from(users).toString('base64') } }],
    }),
  );
  return { route: routes[0], problems: problems.map(({ message }) => message) };
}

const routed = (annotations: Readonly<Record<string, string>>, extra: Extra = {}): RouteSpec => {
  const { route, problems } = translated(annotations, extra);
  assert.deepEqual(problems, []);
  assert.ok(route);
  return route;
};

describe('an annotation of an Ingress', () => {
  test('holds what follows the name of a directive', () => {
    const route = routed({
      'sluice.dev/redir': '/old/* /new/{remainder} 301\n/a /b',
      'sluice.dev/ip_filter': 'allow 10.0.0.0/8',
      'sluice.dev/uri': 'strip_prefix /api',
    });
    assert.deepEqual(
      route.redirects.map(({ from }) => from),
      ['/old/*', '/a'],
    );
    assert.deepEqual(route.ip_filter?.allow, ['10.0.0.0/8']);
    assert.equal(route.uri?.[0]?.strip_prefix, '/api');
  });

  test('has the form of a label or of the directive where both have its name', () => {
    assert.equal(routed({ 'sluice.dev/rate_limit': '10/s' }).rate_limit_rps, 10);
    assert.equal(routed({ 'sluice.dev/cors': 'https://a.test' }).cors?.credentials, false);
    assert.equal(routed({ 'sluice.dev/cors': 'https://a.test { credentials }' }).cors?.credentials, true);
    const both = routed({ 'sluice.dev/read_timeout': '5m', 'sluice.dev/transport': '{ dial_timeout 2s }' });
    assert.deepEqual([both.transport?.read_timeout_secs, both.transport?.dial_timeout_secs], [300, 2]);
    assert.equal(routed({ 'sluice.dev/header': '-Server', 'sluice.dev/header.X-A': 'b' }).headers.length, 2);
  });

  test('with a mistake is named with its reason, and the Ingress is not routed without it', () => {
    const { route, problems } = translated({ 'sluice.dev/ip_filter': 'alow 10.0.0.0/8' });
    assert.deepEqual([route?.upstreams, route?.respond?.status], [[], 503]);
    assert.match(problems.join(), /^sluice\.dev\/ip_filter: .*alow/);
    assert.match(translated({ 'sluice.dev/basic_auth': 'Not a name' }).problems.join(), /the name of a Secret/);
    assert.match(translated({ 'sluice.dev/file_server': '/etc' }).problems.join(), /is not a Sluice label/);
  });
});

test('annotations that contradict each other close the paths of their own Ingress, and of no other', () => {
  const app = serviceOf('shop/web', '10.0.0.1');
  const other = { ...ingressOf('shop/api', 'shop.test', 'web', { 'sluice.dev/transport': 'h2' }) };
  const rules = [
    {
      host: 'shop.test',
      http: { paths: [{ path: '/api', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }] },
    },
  ];
  const { routes, problems } = translate(
    clusterOf({
      ingresses: [ingressOf('shop/web', 'shop.test', 'web'), { ...other, spec: { ingressClassName: 'sluice', rules } }],
      services: [app.service],
      slices: [app.slice],
    }),
  );
  assert.match(problems.map(({ message }) => message).join(), /can't be used together: .*h2.*answer 503/);
  assert.deepEqual(
    routes[0]?.handles.map(({ respond }) => respond?.status),
    [503, undefined],
  );
});

describe('sluice.dev/basic_auth', () => {
  test('lets in the users of a Secret, under its realm', () => {
    const { basic_auth: auth } = routed({ 'sluice.dev/basic_auth': 'team Our shop' }, { users: `# us\nann:${HASH}\n` });
    assert.equal(auth?.realm, 'Our shop');
    assert.deepEqual(
      auth?.users.map(({ name }) => name),
      ['ann'],
    );
  });

  test('closes the paths, and says why, as long as the Secret is missing or wrong', () => {
    for (const [users, reason] of [
      [null, /the Secret shop\/team does not exist \(its type must be sluice\.dev\/htpasswd\)/],
      ['', /has no users/],
      ['ann:$apr1$x$y\n', /line 1 of auth: /],
      [`ann:${HASH}\nann:${HASH}`, /line 2 of auth: this user is in it twice/],
    ] as const) {
      const { route, problems } = translated({ 'sluice.dev/basic_auth': 'team' }, { users });
      assert.match(problems.join(), reason);
      assert.doesNotMatch(problems.join(), /\$2b\$04|\$apr1/);
      assert.equal(route?.respond?.status, 503);
      assert.deepEqual(route?.upstreams, []);
    }
  });
});

describe('sluice.dev/forward_auth', () => {
  const annotations = { 'sluice.dev/forward_auth': 'login.sso:80 {\n  uri /verify\n  copy_headers Remote-User\n}' };
  const server = (allowed: object) => serviceOf('sso/login', '10.0.0.9', allowed);

  test('asks the endpoints of a Service, which has to agree if it is in another namespace', () => {
    for (const from of ['shop', 'blog, shop', '*']) {
      const { forward_auth: auth } = routed(annotations, { auth: server({ 'sluice.dev/forward_auth_from': from }) });
      assert.deepEqual([auth?.upstreams, auth?.uri], [['10.0.0.9:8080'], '/verify']);
    }
    const near = { 'sluice.dev/forward_auth': 'login:80 { uri /verify }' };
    assert.deepEqual(routed(near, { auth: serviceOf('shop/login', '10.0.0.8') }).forward_auth?.upstreams, ['10.0.0.8:8080']);
  });

  test('closes the paths, and says why, if it can’t be reached', () => {
    for (const [auth, reason] of [
      [undefined, /the service sso\/login does not exist/],
      [server({}), /needs the annotation sluice\.dev\/forward_auth_from=shop/],
      [server({ 'sluice.dev/forward_auth_from': 'shopping' }), /needs the annotation/],
    ] as const) {
      const { route, problems } = translated(annotations, { ...(auth && { auth }) });
      assert.match(problems.join(), reason);
      assert.equal(route?.respond?.status, 503);
    }
    for (const address of ['127.0.0.1:6190', 'unix//run/sluice/admin.sock', 'metadata.google.internal.example:80', '[::1]:80'])
      assert.equal(translated({ 'sluice.dev/forward_auth': `${address} { uri /x }` }).route?.respond?.status, 503, address);
  });
});

describe('annotations of ingress-nginx', () => {
  const NGINX = 'nginx.ingress.kubernetes.io/';

  test('that restrict access keep an Ingress from being served without them, and say what to write', () => {
    const { route, problems } = translated({ [`${NGINX}whitelist-source-range`]: '10.0.0.0/8' });
    assert.deepEqual([route?.upstreams, route?.respond?.status], [[], 503]);
    assert.match(
      problems.join(),
      /whitelist-source-range has no effect here, and the site would be open without it: write sluice\.dev\/ip_filter/,
    );
    assert.match(translated({ [`${NGINX}configuration-snippet`]: 'deny all;' }).problems.join(), /may contain access rules/);
    const both = { [`${NGINX}whitelist-source-range`]: '10.0.0.0/8', 'sluice.dev/ip_filter': 'allow 10.0.0.0/8' };
    assert.deepEqual(routed(both).ip_filter?.allow, ['10.0.0.0/8']);
    assert.ok(routed({ [`${NGINX}enable-modsecurity`]: 'false' }));
  });

  test('that do not are reported together, and the Ingress is served', () => {
    const { route, problems } = translated({ [`${NGINX}proxy-body-size`]: '8m', [`${NGINX}use-regex`]: 'true' });
    assert.ok(route);
    assert.deepEqual(problems, [`${NGINX}proxy-body-size, use-regex have no effect here: write what Sluice has for them, or remove them`]);
  });
});
