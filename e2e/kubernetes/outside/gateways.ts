import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { ask } from '../../testing/http.ts';
import { REPOSITORY } from '../../testing/process.ts';
import { type Cluster, clusterNetwork } from '../testing/cluster.ts';
import { app, GATEWAY_CLASS, gatewayObject, tlsSecret } from '../testing/objects.ts';
import { Pair } from '../testing/pair.ts';
import { joinCluster, leaveCluster } from '../testing/shared-cluster.ts';

const skip = clusterNetwork();

let cluster: Cluster;
let pair: Pair;
before(async () => {
  if (skip !== undefined) return;
  cluster = await joinCluster();
  await cluster.defineGateways();
  await cluster.apply(GATEWAY_CLASS);
  pair = await Pair.withoutController('0.0.0.0');
});
after(async () => {
  await pair?.[Symbol.asyncDispose]();
  await leaveCluster(cluster);
});

const HTTP = { name: 'http', protocol: 'HTTP', port: 80 };
const gateway = (name: string, ...listeners: object[]) => gatewayObject('Gateway', name, { gatewayClassName: 'sluice', listeners });
const route = (name: string, parent: string, rules: object[], more: object = {}) =>
  gatewayObject('HTTPRoute', name, { parentRefs: [{ name: parent }], rules, ...more });
const to = (name: string, more: object = {}) => ({ name, port: 80, ...more });
const prefix = (value: string) => ({ path: { type: 'PathPrefix', value } });

const answer = async (host: string, path = '/') => JSON.parse((await pair.serves(200, host, path)).text) as { pod: string; path: string };
const appOf = async (host: string, path = '/') => (await answer(host, path)).pod.replace(/-[a-z0-9]+-[a-z0-9]+$/, '');

describe('Gateways with addresses of their own', { skip }, () => {
  const addresses = ['10.77.200.1', '10.77.200.2'];
  const addressOf = async (name: string) => {
    const path = `/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/${name}`;
    const { status } = await cluster.api<{ readonly status?: { readonly addresses?: readonly { readonly value: string }[] } }>('GET', path);
    return status?.addresses?.[0]?.value;
  };
  const reported = (name: string) => until(`the address of ${name}`, () => addressOf(name));
  const podAt = async (host: string, address: string) => {
    const { status, text } = await ask({ host: address, port: pair.httpPort }, '/', { headers: { host } });
    return status === 200 ? (JSON.parse(text) as { pod: string }).pod.split('-')[0] : `${status}`;
  };
  const serves = (expected: string, host: string, address: string) =>
    until(`${expected} for ${host} at ${address}`, async () => (await podAt(host, address)) === expected);

  test('serve different routes for the same host, and keep their addresses', async () => {
    await pair.startController(cluster.kubeconfig, ['--publish-address', addresses.join()]);
    await cluster.apply(...app({ name: 'first' }), ...app({ name: 'second' }));
    const rules = (name: string) => [{ backendRefs: [to(name)] }];
    await cluster.apply(gateway('first', HTTP), route('first', 'first', rules('first'), { hostnames: ['a.test'] }));
    const first = await reported('first');
    await cluster.apply(gateway('second', HTTP), route('second', 'second', rules('second')));
    const second = await reported('second');
    assert.deepEqual([first, second].sort(), addresses);
    await serves('first', 'a.test', first);
    await serves('404', 'b.test', first);
    // The second Gateway has every host, including that of the first one.
    await serves('second', 'a.test', second);
    await serves('second', 'b.test', second);

    await cluster.delete('gateway/first');
    await serves('404', 'a.test', first);
    assert.equal(await addressOf('second'), second);
    await serves('second', 'a.test', second);
    await cluster.delete('gateway/second', 'httproute/first', 'httproute/second');
    await pair.stopController();
  });
});

describe('an HTTPRoute', { skip }, () => {
  before(() => pair.startController(cluster.kubeconfig));

  test('is attached to a Gateway, and its most specific match decides, regardless of the order of its rules', async () => {
    await cluster.apply(...['any', 'deep', 'exact', 'header'].flatMap((name) => app({ name })));
    const rules = [
      { backendRefs: [to('any')] },
      { matches: [prefix('/a/b')], backendRefs: [to('deep')] },
      { matches: [{ path: { type: 'Exact', value: '/a' } }], backendRefs: [to('exact')] },
      { matches: [{ headers: [{ name: 'x-team', value: 'red' }] }], backendRefs: [to('header')] },
    ];
    await cluster.apply(gateway('main', HTTP), route('first', 'main', rules, { hostnames: ['first.test'] }));
    const table = [
      ['/', 'any'],
      ['/a', 'exact'],
      ['/a/', 'any'],
      ['/a/b', 'deep'],
      ['/a/b/c', 'deep'],
      ['/a/bc', 'any'],
    ] as const;
    for (const [path, expected] of table) assert.equal(await appOf('first.test', path), expected, path);
    const own = await until('the header to decide', async () => {
      const { text } = await pair.visit('first.test', '/', { 'X-Team': 'red' });
      return text.includes('"pod":"header-') ? text : undefined;
    });
    assert.ok(own);
    assert.equal((await pair.visit('second.test')).status, 404);
  });

  test('divides requests by weight, and the share of a backend that does not exist is 500', async () => {
    await cluster.apply(...app({ name: 'heavy' }, { replicas: 3 }), ...app({ name: 'light' }));
    const backendRefs = [to('heavy', { weight: 2 }), to('light', { weight: 1 }), to('absent', { weight: 1 }), to('none', { weight: 0 })];
    await cluster.apply(route('weights', 'main', [{ backendRefs }], { hostnames: ['weights.test'] }));
    const answerer = async () => {
      const { status, text } = await pair.visit('weights.test');
      return status === 200 ? (JSON.parse(text) as { pod: string }).pod.slice(0, 5) : `${status}`;
    };
    // The share of a backend whose pods are not ready yet is 503.
    const seen = new Set<string>();
    await until('both backends to answer', async () => seen.add(await answerer()).has('heavy') && seen.has('light'));
    const counts = new Map<string, number>();
    for (let nth = 0; nth < 400; nth++) {
      const which = await answerer();
      counts.set(which, (counts.get(which) ?? 0) + 1);
    }
    assert.deepEqual([...counts.keys()].sort(), ['500', 'heavy', 'light']);
    const share = (name: string) => (counts.get(name) ?? 0) / 400;
    assert.ok(Math.abs(share('heavy') - 0.5) < 0.1 && Math.abs(share('light') - 0.25) < 0.1, JSON.stringify([...counts]));
  });

  test('redirects, rewrites paths by whole segments, and changes headers both ways', async () => {
    await cluster.apply(...app({ name: 'target' }));
    const filter = (type: string, member: string, value: object) => ({ type, [member]: value });
    const rules = [
      {
        matches: [prefix('/old')],
        filters: [
          filter('RequestRedirect', 'requestRedirect', {
            hostname: 'new.test',
            statusCode: 301,
            path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' },
          }),
        ],
      },
      {
        matches: [prefix('/in')],
        filters: [
          filter('URLRewrite', 'urlRewrite', {
            hostname: 'inner.test',
            path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/out' },
          }),
          filter('ResponseHeaderModifier', 'responseHeaderModifier', { set: [{ name: 'X-Text', value: '{host}' }] }),
        ],
        backendRefs: [to('target')],
      },
    ];
    await cluster.apply(route('filters', 'main', rules, { hostnames: ['filters.test'] }));
    const redirected = await pair.serves(301, 'filters.test', '/old/a?b=1');
    assert.equal(redirected.headers.location, 'http://new.test/new/a?b=1');
    assert.equal((await pair.visit('filters.test', '/old')).headers.location, 'http://new.test/new');
    assert.equal((await pair.visit('filters.test', '/older')).status, 404);
    const rewritten = await pair.serves(200, 'filters.test', '/in/a?b=1');
    assert.equal(rewritten.headers['x-text'], '{host}', 'braces are text');
    const { path, host } = JSON.parse(rewritten.text) as { path: string; host: string };
    assert.deepEqual([path, host], ['/out/a?b=1', 'inner.test']);
    assert.equal((await answer('filters.test', '/in')).path, '/out');
  });

  test('is rejected with the reason if no listener allows it, and the status of each object says so', async () => {
    const closed = {
      ...HTTP,
      name: 'closed',
      port: 8080,
      hostname: 'closed.test',
      allowedRoutes: { namespaces: { from: 'Selector', selector: { matchLabels: { open: 'yes' } } } },
    };
    await cluster.apply(gateway('closed', closed), route('kept-out', 'closed', [{ backendRefs: [to('any')] }]));
    const status = await until('the reason to be told', async () => {
      const text = await pair.command('status');
      return text.includes('no listener allows a HTTPRoute of the namespace default') ? text : undefined;
    });
    assert.match(status, /httproute default\/kept-out/);
  });
});

describe('an HTTPS listener', { skip }, () => {
  test('serves its hosts with its certificate, and the HTTP listener of the same Gateway does not redirect', async () => {
    const authority = new CertificatesFixture();
    const certificate = authority.issue('secure.test');
    await cluster.apply(...app({ name: 'secure' }), tlsSecret({ name: 'secure' }, certificate));
    const https = { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'secure.test', tls: { certificateRefs: [{ name: 'secure' }] } };
    await cluster.apply(
      gateway('secure', https, { ...HTTP, hostname: 'secure.test' }),
      route('secure', 'secure', [{ backendRefs: [to('secure')] }]),
    );
    await pair.serves(200, 'secure.test');
    assert.equal(await pair.presents('secure.test'), new X509Certificate(certificate.cert).serialNumber);
  });

  test('without a host presents its certificate for any name, and serves the hosts of its routes there', async () => {
    const authority = new CertificatesFixture();
    const certificate = authority.issue('fallback.example');
    await cluster.apply(...app({ name: 'open' }), tlsSecret({ name: 'open' }, certificate));
    const https = { name: 'https', protocol: 'HTTPS', port: 443, tls: { certificateRefs: [{ name: 'open' }] } };
    await cluster.apply(gateway('open', https), route('open', 'open', [{ backendRefs: [to('open')] }], { hostnames: ['open.test'] }));
    const { serialNumber } = new X509Certificate(certificate.cert);
    for (const name of ['open.test', 'unknown.test'])
      await until(`the certificate for ${name}`, async () => (await pair.presents(name)) === serialNumber);
    assert.match(await pair.command('explain', 'https://open.test/'), /the default one of its port: \*@:\d+ by /);
  });

  test('lets in only clients with a certificate of the authorities that its Gateway names', async () => {
    const servers = new CertificatesFixture();
    const clients = await makePair([], { subject: 'CN=clients', authority: true });
    const alice = await makePair([], { subject: 'CN=alice', signer: clients.signs });
    const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'clients' }];
    const https = { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'closed.test', tls: { certificateRefs: [{ name: 'closed' }] } };
    const spec = { gatewayClassName: 'sluice', listeners: [https], tls: { frontend: { default: { validation: { caCertificateRefs } } } } };
    await cluster.apply(
      ...app({ name: 'closed' }),
      tlsSecret({ name: 'closed' }, servers.issue('closed.test')),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'clients' }, data: { 'ca.crt': clients.certificate } },
      gatewayObject('Gateway', 'closed', spec),
      route('closed', 'closed', [{ backendRefs: [to('closed')] }]),
    );
    const { certificate: cert, privateKey: key } = alice;
    await until('the client with a certificate to be let in', async () =>
      / 200 /.test(await pair.secureLine('closed.test', { cert, key })),
    );
    await assert.rejects(pair.secureLine('closed.test', {}), /certificate required|disconnected|ECONNRESET/);
  });
});

describe('a TLSRoute', { skip }, () => {
  test('passes connections on by the name that they ask for, and those for other names of its listener are closed', async () => {
    const authority = new CertificatesFixture();
    const { cert, key } = authority.issue('db.pass.test');
    const server = createTlsServer({ cert, key }, (socket) => socket.on('error', () => undefined).end('from the database'));
    await once(server.listen(0, '10.77.250.1'), 'listening');
    const { port } = server.address() as { port: number };
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'db' }, spec: { ports: [{ name: 'tls', port: 443 }] } };
    const slice = {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
      metadata: { name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
      ports: [{ name: 'tls', port }],
      endpoints: [{ addresses: ['10.77.250.1'], conditions: { ready: true } }],
    };
    const tls = { name: 'tls', protocol: 'TLS', port: 443, hostname: '*.pass.test', tls: { mode: 'Passthrough' } };
    await cluster.apply(
      ...[service, slice, gateway('pass', tls)],
      gatewayObject('TLSRoute', 'db', {
        parentRefs: [{ name: 'pass' }],
        hostnames: ['db.pass.test'],
        rules: [{ backendRefs: [{ name: 'db', port: 443 }] }],
      }),
    );
    await until('its certificate', async () => (await pair.presents('db.pass.test')) === new X509Certificate(cert).serialNumber);
    await assert.rejects(pair.presents('other.pass.test'), /disconnected/);
    server.close();
  });
});

test('the Gateway and the route of docs/gateway-api.md work as they are', { skip }, async () => {
  const guide = readFileSync(`${REPOSITORY}/docs/gateway-api.md`, 'utf8').replaceAll(/^ {3}/gm, '');
  const [manifest] = [...guide.matchAll(/^```yaml\n(.*?)^```/gms)].map(([, text]) => text);
  await cluster.apply(...app({ name: 'hello' }));
  await cluster.kubectl(['apply', '-f', '-'], manifest);
  assert.equal(await appOf('hello.example'), 'hello');
});
