import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIRECTIVES } from '../../controller/sources/kubernetes/annotations/ingress-annotations.ts';
import { PROTECTING } from '../../controller/sources/kubernetes/annotations/nginx-annotations.ts';
import { translate } from '../../controller/sources/kubernetes/routes/translate.ts';
import { clusterOf, ingressOf, serviceOf } from '../../controller/sources/kubernetes/testing/cluster-snapshot.ts';
import { GUIDE, guideRows } from '../testing/nginx-guide.ts';

/** The meaning of each row as members of the route, by its annotations. */
const MEANT: Readonly<Record<string, object>> = {
  'redir: / /app 302': { redirects: [{ from: '/', to: '/app', status: 302 }] },
  'redir: /* https://new.example 301': { redirects: [{ from: '/*', to: 'https://new.example', status: 301 }] },
  'redir: /* https://new.example 302': { redirects: [{ from: '/*', to: 'https://new.example', status: 302 }] },
  'redir: /* https://shop.example{uri} 308': { redirects: [{ from: '/*', to: 'https://shop.example{uri}', status: 308 }] },
  'uri: strip_prefix /app': { uri: [{ strip_prefix: '/app' }] },
  'rewrite: /': { rewrites: [{ to: '/' }] },
  'uri: path_regexp ^/v[0-9]+/ /': { uri: [{ path_regexp: { pattern: '^/v[0-9]+/', by: '/' } }] },
  'https_redirect: off': { https_redirect: false },
  'ip_filter: allow 10.0.0.0/8 192.0.2.7': { ip_filter: { allow: ['10.0.0.0/8', '192.0.2.7'] } },
  'ip_filter: deny 192.0.2.0/24': { ip_filter: { deny: ['192.0.2.0/24'] } },
  'basic_auth: team Our shop': { basic_auth: { realm: 'Our shop', users: [{ name: 'ann' }] } },
  'forward_auth: login.sso:80 { uri /verify }': { forward_auth: { upstreams: ['10.0.0.9:8080'], uri: '/verify' } },
  'cors: *': { cors: { origins: ['*'] } },
  'cors: https://app.example { credentials }': { cors: { origins: ['https://app.example'], credentials: true } },
  'cors: https://app.example { methods GET POST }': { cors: { methods: ['GET', 'POST'] } },
  'cors: https://app.example { headers X-Token }': { cors: { headers: ['X-Token'] } },
  'cors: https://app.example { expose X-Total }': { cors: { expose: ['X-Total'] } },
  'cors: https://app.example { max_age 3600s }': { cors: { max_age_secs: 3_600 } },
  'max_body_size: 10mb': { request_body: { max_size: 10_485_760 } },
  'response_header_timeout: 120s, read_timeout: 120s': { transport: { response_header_timeout_secs: 120, read_timeout_secs: 120 } },
  'transport: { dial_timeout 2s }': { transport: { dial_timeout_secs: 2 } },
  'upstream_tls: insecure': { tls: true, transport: { insecure: true } },
  'transport: h2c': { transport: { protocol: 'h2c' } },
  'transport: h2, upstream_tls: insecure': { tls: true, transport: { protocol: 'h2', insecure: true } },
  'upstream_tls: true, transport: { tls_server_name app.internal }': { tls: true, transport: { server_name: 'app.internal' } },
  'lb_policy: cookie route': { lb_policy: { policy: 'cookie', name: 'route' } },
  'lb_policy: uri_hash': { lb_policy: { policy: 'uri_hash' } },
  'lb_policy: least_conn': { lb_policy: { policy: 'least_conn' } },
  'rate_limit: 10/s': { rate_limit_rps: 10 },
  'rate_limit: 100/m': { rate_limits: [{ rpm: 100 }] },
  'request_header: Host app.internal': { request_headers: [{ name: 'Host', value: 'app.internal' }] },
  'request_header: X-Forwarded-Prefix /app': { request_headers: [{ name: 'X-Forwarded-Prefix', value: '/app' }] },
  'header.X-Robots-Tag: noindex': { headers: [{ name: 'X-Robots-Tag', value: 'noindex' }] },
};

/** Every annotation of ingress-nginx. */
const THEIRS =
  `app-root affinity affinity-mode affinity-canary-behavior auth-realm auth-secret auth-secret-type auth-type auth-tls-secret auth-tls-verify-depth
auth-tls-verify-client auth-tls-error-page auth-tls-pass-certificate-to-upstream auth-tls-match-cn auth-url auth-cache-key auth-cache-duration
auth-keepalive auth-keepalive-share-vars auth-keepalive-requests auth-keepalive-timeout auth-proxy-set-headers auth-snippet enable-global-auth
auth-method auth-signin auth-signin-redirect-param auth-response-headers auth-request-redirect auth-always-set-cookie backend-protocol canary
canary-by-header canary-by-header-value canary-by-header-pattern canary-by-cookie canary-weight canary-weight-total client-body-buffer-size
configuration-snippet custom-http-errors custom-headers default-backend disable-proxy-intercept-errors enable-cors cors-allow-origin
cors-allow-methods cors-allow-headers cors-expose-headers cors-allow-credentials cors-max-age force-ssl-redirect from-to-www-redirect
http2-push-preload limit-connections limit-rps limit-rpm limit-burst-multiplier limit-whitelist limit-rate limit-rate-after
permanent-redirect permanent-redirect-code temporal-redirect temporal-redirect-code preserve-trailing-slash proxy-body-size
proxy-cookie-domain proxy-cookie-path proxy-connect-timeout proxy-send-timeout proxy-read-timeout proxy-next-upstream
proxy-next-upstream-timeout proxy-next-upstream-tries proxy-request-buffering proxy-redirect-from proxy-redirect-to proxy-http-version
proxy-ssl-secret proxy-ssl-ciphers proxy-ssl-name proxy-ssl-protocols proxy-ssl-verify proxy-ssl-verify-depth proxy-ssl-server-name
enable-rewrite-log rewrite-target satisfy server-alias server-snippet service-upstream session-cookie-change-on-failure
session-cookie-conditional-samesite-none session-cookie-domain session-cookie-expires session-cookie-max-age session-cookie-name
session-cookie-path session-cookie-samesite session-cookie-secure ssl-redirect ssl-passthrough stream-snippet upstream-hash-by
x-forwarded-prefix load-balance upstream-vhost denylist-source-range whitelist-source-range proxy-buffering proxy-buffers-number
proxy-buffer-size proxy-busy-buffers-size proxy-max-temp-file-size ssl-ciphers ssl-prefer-server-ciphers connection-proxy-header
enable-access-log enable-opentelemetry opentelemetry-trust-incoming-span opentelemetry-operation-name use-regex enable-modsecurity
enable-owasp-core-rules modsecurity-transaction-id modsecurity-snippet mirror-request-body mirror-target mirror-host`.split(/\s+/);

const HASH = '$2b$04$abcdefghijklmnopqrstuuF1xk7vYb0X2m5r8Q3wqHnUe1JbKzDiS';

function routeFor(annotations: Readonly<Record<string, string>>) {
  const [app, login] = [serviceOf('shop/web', '10.0.0.1'), serviceOf('sso/login', '10.0.0.9', { 'sluice.dev/forward_auth_from': 'shop' })];
  const { routes, problems } = translate(
    clusterOf({
      ingresses: [ingressOf('shop/web', 'shop.test', 'web', annotations)],
      services: [app.service, login.service],
      slices: [app.slice, login.slice],
      users: [{ name: 'shop/team', data: { auth: Buffer.from(`ann:${HASH}`).toString('base64') } }],
    }),
  );
  assert.deepEqual(problems, [], JSON.stringify(annotations));
  return routes[0];
}

const labelOf = (ours: Readonly<Record<string, string>>): string =>
  Object.entries(ours)
    .map(([name, value]) => `${name.replace('sluice.dev/', '')}: ${value}`)
    .join(', ');

test('each row of the guide that has an equivalent is accepted by the controller and means what it says', () => {
  const rows = guideRows.filter(({ ours }) => Object.keys(ours).length > 0);
  for (const { ours } of rows) assert.partialDeepStrictEqual(routeFor(ours), MEANT[labelOf(ours)] ?? { of: labelOf(ours) });
  assert.deepEqual(rows.map(({ ours }) => labelOf(ours)).sort(), Object.keys(MEANT).sort());
});

test('each row without an equivalent says so', () => {
  for (const { theirs, ours, text } of guideRows)
    assert.ok(Object.keys(ours).length > 0 || /^(?:no equivalent|not needed|lines in that block)/.test(text), theirs.join());
});

test('the annotations that keep a copied Ingress from being served are those that the guide names', () => {
  for (const [name, protection] of PROTECTING) {
    const row = guideRows.find(({ theirs }) => theirs.includes(name));
    assert.ok(row, name);
    const ours = Object.keys(row.ours);
    if ('by' in protection) assert.ok(ours.includes(`sluice.dev/${protection.by}`) || row.text.startsWith('lines in that block'), name);
    else assert.deepEqual(ours, [], name);
  }
});

test('every annotation of ingress-nginx is in the guide', () => {
  const named = new Set(guideRows.flatMap(({ theirs }) => theirs));
  assert.deepEqual(
    THEIRS.filter((name) => !named.has(name)),
    [],
  );
});

test('the directives that an annotation can hold are all named', () => {
  const [, list = ''] = /directives can\s+be\s+used\s+in\s+an\s+annotation: ([\s\S]*?)\. The\s+value/.exec(GUIDE) ?? [];
  assert.deepEqual([...list.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort(), [...DIRECTIVES].sort());
});
