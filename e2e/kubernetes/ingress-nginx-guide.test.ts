import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Answer, type Ask, visit } from '../harness/http.ts';
import { GUIDE, guideManifests, guideRows } from '../harness/nginx-guide.ts';
import { until } from '../harness/until.ts';
import { Cluster, clusterNetwork } from './harness/cluster.ts';
import { app, INGRESS_CLASS, ingress } from './harness/objects.ts';
import { Pair } from './harness/pair.ts';

const skip = clusterNetwork();

let cluster: Cluster;
let pair: Pair;
const rows = guideRows.filter(({ ours }) => Object.keys(ours).length > 0);
const hostOf = (row: number): string => `row${row}.test`;

before(async () => {
  if (skip !== undefined) return;
  cluster = await Cluster.start();
  pair = await Pair.start({ kubeconfig: cluster.kubeconfig });
  const namespaces = ['shop', 'sso'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  await cluster.apply(INGRESS_CLASS, ...namespaces);
  await cluster.apply(...app({ name: 'shop', namespace: 'shop' }), ...app({ name: 'login', namespace: 'sso' }));
  for (const manifest of guideManifests) await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifest);
  const paths = [{ path: '/', service: 'shop' }];
  await cluster.apply(
    ...rows.map(({ ours }, at) => ingress({ name: `row${at}`, namespace: 'shop' }, hostOf(at), paths, { annotations: ours })),
  );
  await pair.serves(401, 'intern.shop.example');
  await until('every row to be served', async () => (await pair.command('routes')).includes(hostOf(rows.length - 1)));
});
after(async () => {
  await pair?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

type Visitor = (path: string, more?: Ask) => Promise<Answer>;
type Seen = { readonly path: string; readonly host: string; readonly headers: Readonly<Record<string, string>> };
const seenIn = ({ text }: Answer): Seen => JSON.parse(text) as Seen;
const credentials = (user: string, password: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
});
const fromApp = { headers: { origin: 'https://app.example' } };
const preflight = (headers: Readonly<Record<string, string>>): Ask => ({
  method: 'OPTIONS',
  headers: { origin: 'https://app.example', 'access-control-request-method': 'POST', ...headers },
});
const redirects = (status: number, from: string, to: string) => async (ask: Visitor) => {
  const answer = await ask(from);
  assert.deepEqual([answer.status, answer.headers.location], [status, to]);
};

/** The effect of a row for visitors, by its annotations. */
const NOTICED: Readonly<Record<string, (ask: Visitor) => Promise<void>>> = {
  'redir: / /app 302': redirects(302, '/', '/app'),
  'redir: /* https://new.example 301': redirects(301, '/x', 'https://new.example'),
  'redir: /* https://new.example 302': redirects(302, '/x', 'https://new.example'),
  'redir: /* https://shop.example{uri} 308': redirects(308, '/x?y=1', 'https://shop.example/x?y=1'),
  'uri: strip_prefix /app': async (ask) => {
    assert.equal(seenIn(await ask('/app/x?y=1')).path, '/x?y=1');
    assert.equal(seenIn(await ask('/app')).path, '/');
  },
  'rewrite: /': async (ask) => assert.equal(seenIn(await ask('/x/y')).path, '/'),
  'uri: path_regexp ^/v[0-9]+/ /': async (ask) => assert.equal(seenIn(await ask('/v12/x')).path, '/x'),
  'ip_filter: allow 10.0.0.0/8 192.0.2.7': async (ask) => assert.equal((await ask('/')).status, 403),
  'ip_filter: deny 192.0.2.0/24': async (ask) => assert.equal((await ask('/')).status, 200),
  'basic_auth: team Our shop': async (ask) => {
    const stranger = await ask('/');
    assert.deepEqual([stranger.status, stranger.headers['www-authenticate']], [401, 'Basic realm="Our shop", charset="UTF-8"']);
    assert.equal((await ask('/', credentials('ann', 'only in the docs'))).status, 200);
    assert.equal((await ask('/', credentials('ann', 'another'))).status, 401);
  },
  'forward_auth: login.sso:80 { uri /verify }': async (ask) => {
    assert.deepEqual([(await ask('/')).status, (await ask('/')).text], [401, 'who are you?']);
    assert.equal((await ask('/', { headers: { cookie: 'session=ann' } })).status, 200);
  },
  'cors: *': async (ask) => assert.equal((await ask('/', fromApp)).headers['access-control-allow-origin'], '*'),
  'cors: https://app.example { credentials }': async (ask) => {
    const { headers } = await ask('/', fromApp);
    assert.deepEqual(
      [headers['access-control-allow-origin'], headers['access-control-allow-credentials']],
      ['https://app.example', 'true'],
    );
  },
  'cors: https://app.example { methods GET POST }': async (ask) =>
    assert.equal((await ask('/', preflight({}))).headers['access-control-allow-methods'], 'GET, POST'),
  'cors: https://app.example { headers X-Token }': async (ask) =>
    assert.match(
      (await ask('/', preflight({ 'access-control-request-headers': 'x-token' }))).headers['access-control-allow-headers'] ?? '',
      /x-token/i,
    ),
  'cors: https://app.example { expose X-Total }': async (ask) =>
    assert.equal((await ask('/', fromApp)).headers['access-control-expose-headers'], 'X-Total'),
  'cors: https://app.example { max_age 3600s }': async (ask) =>
    assert.equal((await ask('/', preflight({}))).headers['access-control-max-age'], '3600'),
  'max_body_size: 10mb': async (ask) => {
    const body = Buffer.alloc(10_485_761);
    assert.equal(
      (await ask('/', { method: 'POST', headers: { 'content-length': String(body.length), expect: '100-continue' } })).status,
      413,
    );
  },
  'upstream_tls: insecure': async (ask) => assert.equal((await ask('/')).status, 502, 'the app speaks no TLS'),
  'lb_policy: cookie route': async (ask) => assert.match(String((await ask('/')).headers['set-cookie']), /^route=/),
  'rate_limit: 10/s': async (ask) => {
    assert.equal((await ask('/')).status, 200);
    await until('too many requests', async () =>
      (await Promise.all(Array.from({ length: 60 }, () => ask('/')))).some(({ status }) => status === 429),
    );
  },
  'request_header: Host app.internal': async (ask) => assert.equal(seenIn(await ask('/')).host, 'app.internal'),
  'request_header: X-Forwarded-Prefix /app': async (ask) => assert.equal(seenIn(await ask('/')).headers['x-forwarded-prefix'], '/app'),
  'header.X-Robots-Tag: noindex': async (ask) => assert.equal((await ask('/')).headers['x-robots-tag'], 'noindex'),
};

describe('the guide for users of ingress-nginx', { skip }, () => {
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
    await cluster.delete('-n', 'shop', 'secret/team');
    await pair.serves(503, 'intern.shop.example');
    assert.match(await pair.command('explain', 'intern.shop.example'), /503|Secret/);
    await cluster.kubectl(['apply', '-f', '-'], guideManifests[0]);
    await pair.serves(401, 'intern.shop.example');
    assert.match(GUIDE, /the paths of the Ingress answer 503/);
  });
});
