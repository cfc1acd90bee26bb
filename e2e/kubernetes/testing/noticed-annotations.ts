import assert from 'node:assert/strict';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Answer, Ask } from '../../testing/http.ts';

type Visitor = (path: string, more?: Ask) => Promise<Answer>;
type EchoedRequest = { readonly path: string; readonly host: string; readonly headers: Readonly<Record<string, string>> };
export const seenIn = ({ text }: Answer): EchoedRequest => JSON.parse(text) as EchoedRequest;
export const credentials = (user: string, password: string) => ({
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

/** The effect of a row of the guide for users of ingress-nginx for visitors, by its annotations. */
export const NOTICED: Readonly<Record<string, (ask: Visitor) => Promise<void>>> = {
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
