import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { visit } from '../../testing/http.ts';
import { GUIDE, guideManifests, guideRows } from '../../testing/nginx-guide.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { credentials, NOTICED, seenIn } from '../testing/noticed-annotations.ts';
import { app, INGRESS_CLASS, ingress, namespaceObject } from '../testing/objects.ts';
import { Pair } from '../testing/pair.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';

const skip = clusterNetwork();

let cluster: Cluster;
let pair: Pair;
before(async () => {
  if (skip !== undefined) return;
  cluster = await joinCluster();
  await cluster.apply(INGRESS_CLASS);
  pair = await Pair.start({ kubeconfig: cluster.kubeconfig });
});
after(async () => {
  await pair?.[Symbol.asyncDispose]();
  await leaveCluster(cluster);
});

const podOf = async (host: string, path = '/') => JSON.parse((await pair.serves(200, host, path)).text) as { pod: string; path: string };
/** The app that answers: the names of its pods begin with its own. */
const appOf = async (host: string, path = '/') => (await podOf(host, path)).pod.replace(/-[a-z0-9]+-[a-z0-9]+$/, '');

const serialOf = (pem: string): string => new X509Certificate(pem).serialNumber;

describe('an Ingress', { skip }, () => {
  test('routes its host to the ready pods of its service, as it is scaled', async () => {
    const paths = [{ path: '/', service: 'web', port: 'http' }];
    await cluster.apply(...app({ name: 'web' }, { replicas: 2 }), ingress({ name: 'web' }, 'web.test', paths));
    const answering = async () => {
      const pods = await Promise.all(Array.from({ length: 20 }, () => podOf('web.test')));
      return new Set(pods.map(({ pod }) => pod));
    };
    await until('both pods to answer', async () => (await answering()).size === 2);
    const [one = ''] = await answering();
    await cluster.kubelet.setReady(one, false);
    await until('the one that is not ready to get nothing', async () => !(await answering()).has(one));
    await cluster.apply(...app({ name: 'web' }, { replicas: 4 }));
    await until('the new ones to answer, too', async () => (await answering()).size === 3);
    await cluster.apply(...app({ name: 'web' }, { replicas: 0 }));
    const none = await pair.serves(503, 'web.test');
    assert.ok(none.headers['retry-after'], 'a host without pods stays known');
  });

  test('matches exact paths before prefixes, the longest prefix first, and whole segments', async () => {
    await cluster.apply(...['shop', 'cart', 'help'].flatMap((name) => app({ name })));
    const paths = [
      { path: '/', service: 'shop' },
      { path: '/cart', service: 'cart' },
      { path: '/cart', type: 'Exact', service: 'help' },
      { path: '/cart/deep/', service: 'shop' },
      { path: '/old/*', type: 'ImplementationSpecific', service: 'help' },
    ] as const;
    await cluster.apply(ingress({ name: 'paths' }, 'paths.test', paths));
    const table: [path: string, app: string][] = [
      ['/', 'shop'],
      ['/cart', 'help'],
      ['/cart/', 'cart'],
      ['/cart/x', 'cart'],
      ['/cartoon', 'shop'],
      ['/cart/deep', 'shop'],
      ['/cart/deep/x', 'shop'],
      ['/cart/deeper', 'cart'],
      ['/old/x', 'help'],
      ['/cart?x=/old/', 'help'],
    ];
    for (const [path, expected] of table) assert.equal(await appOf('paths.test', path), expected, path);
    assert.equal((await podOf('paths.test', '/cart/x?y=1')).path, '/cart/x?y=1');
  });

  test('shares its host with others: each path belongs to the oldest, and a mistake affects nothing else', async () => {
    await cluster.apply(...['mine', 'yours'].flatMap((name) => app({ name })), ...app({ name: 'theirs', namespace: 'default' }));
    await cluster.apply(ingress({ name: 'first' }, 'shared.test', [{ path: '/', service: 'mine' }]));
    await pair.serves(200, 'shared.test');
    // Ages are whole seconds; of the same age, the name decides.
    await cluster.apply(
      ingress({ name: 'second' }, 'shared.test', [
        { path: '/', service: 'yours' },
        { path: '/yours', service: 'yours' },
        { path: '/gone', service: 'not-there' },
        { path: '/port', service: 'yours', port: 81 },
      ]),
    );
    await until('the second to be served', async () => (await appOf('shared.test', '/yours')) === 'yours');
    assert.equal(await appOf('shared.test', '/'), 'mine');
    await pair.serves(503, 'shared.test', '/gone/x');
    await pair.serves(503, 'shared.test', '/port');
    const status = await pair.command('status');
    assert.match(status, /ingress default\/second.*taken by ingress default\/first, which is older/);
    assert.match(status, /the service default\/not-there does not exist/);
    assert.match(status, /has no port 81 \(it has 80 "http"\)/);
    await cluster.delete('ingress/first');
    await until('the next oldest to take over', async () => (await appOf('shared.test', '/')) === 'yours');
  });

  test('belongs to its class: by field, by the legacy annotation, or because its class is the default', async () => {
    await cluster.apply(...app({ name: 'classes' }));
    const paths = [{ path: '/', service: 'classes' }];
    const legacy = { 'kubernetes.io/ingress.class': 'sluice' };
    await cluster.apply(
      ingress({ name: 'other' }, 'other.test', paths, { className: 'nginx' }),
      ingress({ name: 'unclassed' }, 'unclassed.test', paths, { className: null }),
      ingress({ name: 'legacy' }, 'legacy.test', paths, { className: null, annotations: legacy }),
    );
    await pair.serves(200, 'legacy.test');
    assert.equal((await pair.visit('unclassed.test')).status, 404);
    const isDefault = { ...INGRESS_CLASS.metadata, annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } };
    await cluster.apply({ ...INGRESS_CLASS, metadata: isDefault });
    await pair.serves(200, 'unclassed.test');
    assert.equal((await pair.visit('other.test')).status, 404);
    await cluster.apply(INGRESS_CLASS);
  });

  test('without a host serves what no other host claims, and its default backend what no path matches', async () => {
    await cluster.apply(...['fallback', 'some'].flatMap((name) => app({ name })));
    await cluster.apply(
      ingress({ name: 'everyone' }, '', [{ path: '/some', service: 'some' }], { defaultService: 'fallback' }),
      ingress({ name: 'own-default' }, 'own.test', [{ path: '/some', service: 'some' }], { defaultService: 'fallback' }),
    );
    assert.equal(await appOf('unheard-of.test', '/some/x'), 'some');
    assert.equal(await appOf('unheard-of.test', '/x'), 'fallback');
    assert.equal(await appOf('own.test', '/some'), 'some');
    assert.equal(await appOf('own.test', '/x'), 'fallback');
    await cluster.delete('ingress/everyone');
    await until('the default backend of the next oldest to serve', async () => (await appOf('unheard-of.test', '/some/x')) === 'fallback');
    await cluster.delete('ingress/own-default');
    await pair.serves(404, 'unheard-of.test');
  });

  test('is changed by annotations like labels, each for its own paths, and an invalid one leaves the last valid version', async () => {
    await cluster.apply(...app({ name: 'plain' }));
    const annotated = (annotations: Record<string, string>) =>
      ingress({ name: 'annotated' }, 'annotated.test', [{ path: '/limited', service: 'plain' }], { annotations });
    await cluster.apply(
      annotated({ 'sluice.dev/header.X-Team': 'shop' }),
      ingress({ name: 'zz' }, 'annotated.test', [{ path: '/', service: 'plain' }]),
    );
    await until('the header', async () => (await pair.visit('annotated.test', '/limited')).headers['x-team'] === 'shop');
    assert.equal((await pair.serves(200, 'annotated.test')).headers['x-team'], undefined);
    await cluster.apply(annotated({ 'sluice.dev/header.X-Team': 'other', 'sluice.dev/rate_limit': 'many' }));
    const status = await until('the mistake to be told', async () => {
      const text = await pair.command('status');
      return text.includes('rate_limit') ? text : undefined;
    });
    assert.match(status, /sluice\.dev\/rate_limit.* "many".*it keeps its last good version/);
    assert.equal((await pair.visit('annotated.test', '/limited')).headers['x-team'], 'shop');
  });
});

describe('every object', { skip }, () => {
  test('is named by status and explain with its state and its reason, as text and as JSON', async () => {
    await cluster.apply(
      ...app({ name: 'named' }),
      ingress({ name: 'named' }, 'named.test', [{ path: '/', service: 'named' }]),
      ingress({ name: 'waiting' }, 'waiting.test', [{ path: '/', service: 'nothing-yet' }]),
    );
    await pair.serves(200, 'named.test');
    await pair.serves(503, 'waiting.test');
    const status = await pair.command('status');
    assert.match(status, /^OBJECT +HOSTS +STATE +SINCE +WHY$/m);
    assert.match(
      status,
      /^ingress default\/named +named\.test +accepted, resolved, programmed +\S+ +each of its services has an endpoint/m,
    );
    assert.match(
      status,
      /^ingress default\/waiting +waiting\.test +accepted, not resolved +\S+ +the service default\/nothing-yet does not exist/m,
    );
    const explained = await pair.command('explain', 'waiting.test');
    assert.match(explained, /objects +ingress default\/waiting: accepted, not resolved since .*does not exist; what would change it/);
    const { cluster_objects: objects } = JSON.parse(await pair.command('explain', 'named.test', '--json'));
    assert.partialDeepStrictEqual(objects, [
      { kind: 'ingress', name: 'default/named', domains: ['named.test'], accepted: { holds: true } },
    ]);
    await cluster.delete('ingress/named', 'ingress/waiting');
  });
});

describe('an annotated Service', { skip }, () => {
  test('is a site, like a container with these labels, until its annotation is removed', async () => {
    const annotations = { 'sluice.domain': 'svc.test,www.svc.test', 'sluice.tls': 'off', 'sluice.header.X-From': 'a service' };
    await cluster.apply(...app({ name: 'svc' }, { annotations }));
    assert.equal((await pair.serves(200, 'www.svc.test', '/x')).headers['x-from'], 'a service');
    assert.match(await pair.command('explain', 'svc.test'), /from service default\/svc/);
    await cluster.apply(...app({ name: 'svc' }, { annotations: {} }));
    await pair.serves(404, 'svc.test');
  });

  test('with several ports must name one, and says so', async () => {
    const [deployment, service] = app({ name: 'ports' }, { annotations: { 'sluice.domain': 'ports.test', 'sluice.tls': 'off' } });
    assert.ok(deployment && service);
    const ports = [
      { name: 'http', port: 80, targetPort: 8080 },
      { name: 'admin', port: 9000, targetPort: 8080 },
    ];
    const named = (metadata: object) => ({
      ...service,
      metadata: { ...service.metadata, ...metadata },
      spec: { ...(service.spec as object), ports },
    });
    await cluster.apply(deployment, named({}));
    await until('the mistake to be told', async () => (await pair.command('status')).includes('has 2 ports: name one with sluice.port'));
    await cluster.apply(named({ annotations: { 'sluice.domain': 'ports.test', 'sluice.tls': 'off', 'sluice.port': '9000' } }));
    assert.equal(await appOf('ports.test'), 'ports');
  });

  test('shares a host with an Ingress, whose paths it leaves alone', async () => {
    await cluster.apply(...app({ name: 'part' }), ingress({ name: 'part' }, 'both.test', [{ path: '/part', service: 'part' }]));
    await cluster.apply(...app({ name: 'whole' }, { annotations: { 'sluice.domain': 'both.test', 'sluice.tls': 'off' } }));
    await until('both to serve', async () => (await appOf('both.test')) === 'whole');
    assert.equal(await appOf('both.test', '/part/x'), 'part');
  });
});

describe('a TLS Secret', { skip }, () => {
  let authority: CertificatesFixture;
  before(() => {
    authority = new CertificatesFixture();
  });
  const secret = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'safe', namespace: 'default' },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': cert, 'tls.key': key },
  });

  test('gives its host HTTPS and redirects to it once it is there, and a new version is presented at once', async () => {
    await cluster.apply(...app({ name: 'safe' }));
    const tls = [{ hosts: ['safe.test'], secretName: 'safe' }];
    await cluster.apply(ingress({ name: 'safe' }, 'safe.test', [{ path: '/', service: 'safe' }], { tls }));
    await pair.serves(200, 'safe.test');
    assert.match(await pair.command('status'), /the TLS Secret default\/safe does not exist.*served over HTTP alone/);
    const first = authority.issue('safe.test');
    await cluster.apply(secret(first));
    const redirected = await pair.serves(308, 'safe.test', '/x');
    assert.match(String(redirected.headers.location), /^https:\/\/safe\.test(:\d+)?\/x$/);
    assert.equal(await pair.presents('safe.test'), serialOf(first.cert));
    const second = authority.issue('safe.test');
    await cluster.apply(secret(second));
    await until('the new certificate', async () => (await pair.presents('safe.test')) === serialOf(second.cert));
  });

  test('does not get in the way of an HTTP-01 solver, which is another Ingress of the same host', async () => {
    await pair.serves(308, 'safe.test', '/x');
    const path = '/.well-known/acme-challenge/a-token';
    await cluster.apply(...app({ name: 'solver' }), ingress({ name: 'solver' }, 'safe.test', [{ path, type: 'Exact', service: 'solver' }]));
    await until('the solver to answer', async () => (await pair.visit('safe.test', path)).text.includes('"pod":"solver-'));
    await pair.serves(308, 'safe.test', '/x');
  });

  test('that does not fit its host, or its key, is refused with the reason', async () => {
    const other = authority.issue('elsewhere.test');
    await cluster.apply(secret(other));
    await until('the mistake to be told', async () => (await pair.command('status')).includes('is for elsewhere.test, not for safe.test'));
    await cluster.apply(secret({ ...authority.issue('safe.test'), key: other.key }));
    await until('the mistake to be told', async () =>
      (await pair.command('status')).includes('the key does not belong to the certificate'),
    );
  });
});

describe('the guide for users of ingress-nginx', { skip }, () => {
  const rows = guideRows.filter(({ ours }) => Object.keys(ours).length > 0);
  const hostOf = (row: number): string => `row${row}.test`;
  before(async () => {
    await cluster.apply(...['shop', 'sso'].map(namespaceObject));
    await cluster.apply(...app({ name: 'shop', namespace: 'shop' }), ...app({ name: 'login', namespace: 'sso' }));
    await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], guideManifests.join('\n---\n'));
    const paths = [{ path: '/', service: 'shop' }];
    await cluster.apply(
      ...rows.map(({ ours }, at) => ingress({ name: `row${at}`, namespace: 'shop' }, hostOf(at), paths, { annotations: ours })),
    );
    await pair.serves(401, 'intern.shop.example');
    await until('every row to be served', async () => (await pair.command('routes')).includes(hostOf(rows.length - 1)));
  });

  for (const [written, notice] of Object.entries(NOTICED))
    test(`visitors notice ${written}`, async () => {
      const row = rows.findIndex(({ ours }) => {
        const [[name, value] = ['', ''], more] = Object.entries(ours);
        return more === undefined && `${name.replace('sluice.dev/', '')}: ${value}` === written;
      });
      assert.ok(row >= 0, 'it is a row of the guide');
      await notice((path, more) => visit(pair.httpPort, hostOf(row), path, more));
    });

  test('no row is rejected', async () => {
    const rows = (await pair.command('status')).split('\n').filter((line) => line.includes('ingress shop/row'));
    assert.ok(rows.length > 0);
    assert.deepEqual(
      rows.filter((line) => !line.includes('accepted, resolved, programmed')),
      [],
    );
  });

  test('its users and passwords admit clients that know one', async () => {
    assert.equal((await visit(pair.httpPort, 'intern.shop.example', '/', credentials('ann', 'only in the docs'))).status, 200);
    assert.equal((await pair.visit('intern.shop.example')).status, 401);
  });

  test('its login page is shown to clients without a session, and the app learns who the others are', async () => {
    const stranger = await pair.visit('account.shop.example', '/cart?a=1');
    assert.equal(stranger.status, 302);
    assert.equal(stranger.headers.location, 'https://login.example/start?rd=http://account.shop.example/cart%3Fa%3D1');
    const known = await visit(pair.httpPort, 'account.shop.example', '/', {
      headers: { cookie: 'session=ann', 'x-auth-request-user': 'eve' },
    });
    assert.equal(seenIn(known).headers['x-auth-request-user'], 'ann');
  });

  test('while the Secret is missing, the paths are closed', async () => {
    await cluster.api('DELETE', '/api/v1/namespaces/shop/secrets/team');
    await pair.serves(503, 'intern.shop.example');
    assert.match(await pair.command('explain', 'intern.shop.example'), /503|Secret/);
    await cluster.kubectl(['apply', '-f', '-'], guideManifests[0]);
    await pair.serves(401, 'intern.shop.example');
    assert.match(GUIDE, /the paths of the Ingress respond with 503/);
  });
});
