import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLabels } from './read-labels.ts';

const DOMAIN = { 'sluice.domain': 'a.example' };
const reasonsOf = (labels: Record<string, string>): string[] => readLabels(labels).bad.flatMap(({ reasons }) => reasons);

test('ignores labels of other tools and containers without labels', () => {
  for (const labels of [{}, { 'traefik.enable': 'true', sluice: 'x', 'Sluice.domain': 'a.example' }])
    assert.deepEqual(readLabels(labels as Record<string, string>), { sites: [], bad: [], warnings: [] });
});

for (const [value, domains] of [
  ['a.example', ['a.example']],
  [' A.Example , *.b.example ', ['a.example', '*.b.example']],
  ['a.example,a.EXAMPLE', ['a.example']],
  ['a.example,', ['a.example']],
] as const)
  test(`the domains of ${JSON.stringify(value)} are ${domains.join(' and ')}`, () => {
    assert.deepEqual(readLabels({ 'sluice.domain': value }).sites[0]?.domains, domains);
  });

test('the labels of one object can’t become gigabytes of routes', () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `${at}.example`).join();
  assert.equal(readLabels({ 'sluice.domain': names(10_000), 'sluice.port': '80' }).sites[0]?.domains.length, 10_000);
  const header = { 'sluice.header.X-Long': 'v'.repeat(8_000) };
  assert.deepEqual(reasonsOf({ 'sluice.domain': names(4_000), ...header }), []);
  assert.deepEqual(reasonsOf({ 'sluice.domain': names(5_000), ...header }), ['its settings are too long for 5000 domains']);
  const headers = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`sluice.header.X-${at}`, 'v'.repeat(1_000)]));
  assert.deepEqual(reasonsOf({ ...DOMAIN, ...headers }), []);
  const longer = { ...DOMAIN, ...headers, 'sluice.header.X-More': 'v'.repeat(12_000) };
  assert.deepEqual(reasonsOf(longer), ['the labels sluice.* are longer than 262144 characters together']);
});

for (const [label, value, reason] of [
  ['domain', '', 'it is empty'],
  ['domain', ' , ', 'it names no domain'],
  ['domain', 'a.example www.a.example', 'a comma must separate domains'],
  ['domain', 'http://a.example', 'a domain must not have a scheme'],
  ['domain', 'b.example,a.example:80', 'a domain must not have a port'],
  ['port', '', 'it is empty'],
  ['port', '0', 'from 1 to 65535'],
  ['port', '65536', 'from 1 to 65535'],
  ['port', '80/tcp', 'from 1 to 65535'],
  ['weight', '1001', 'a weight is a number from 0 to 1000'],
  ['weight', '-1', 'a weight is a number from 0 to 1000'],
  ['lb_policy', 'leastconn', 'did you mean "least_conn"?'],
  ['lb_policy', 'header', 'header needs a name'],
  ['tls', 'no', 'only be switched off'],
  ['tls', 'OFF', 'only be switched off'],
  ['rate_limit', '10', 'write a rate as <n>/s'],
  ['rate_limit', '0/s', 'a rate must be from 1'],
  ['header.', 'x', 'a header name consists of'],
  ['header.X Y', 'x', 'a header name consists of'],
  ['header.Content-Length', '1', 'the proxy itself sets this header'],
  ['header.http2-settings', 'x', 'the proxy itself sets this header'],
  ['domain', 'bücher.example', 'browsers send this name as xn--bcher-kva.example, so write that'],
  ['header.X-A', 'a\nb', 'must not contain control characters'],
  ['health', 'healthz', 'a path must start with /'],
  ['health', '/a b', 'a path must start with /'],
  ['hold', '10', 'a duration is a number with a unit'],
  ['hold', '500ms', 'whole seconds'],
  ['hold', '301s', '300s at most'],
  ['network', ' ', 'it is empty'],
  ['upstream_tls', 'yes', 'true, insecure or false'],
  ['transport', 'http/2', 'h2c, or h2'],
  ['read_timeout', '90', 'a duration is a number with a unit'],
  ['request_timeout', '2d', '; off is no limit'],
  ['response_header_timeout', '1.5', 'a duration is a number with a unit'],
  ['analytics', 'yes', 'on or off'],
  ['listen', '8443,', 'from 1 to 65535'],
  ['listen', 'https', 'from 1 to 65535'],
  ['listen', Array.from({ length: 33 }, (_, at) => at + 1).join(), 'at most 32 ports'],
] as const)
  test(`sluice.${label}=${JSON.stringify(value)} invalidates its site, with the label, the reason and the form in one line`, () => {
    const labels = { ...DOMAIN, [`sluice.${label}`]: value, 'sluice.other.domain': 'b.example', 'sluice.other.port': '81' };
    const { sites, bad } = readLabels(labels);
    assert.deepEqual(
      sites.map(({ site }) => site),
      ['other'],
    );
    const [message = ''] = bad.flatMap(({ reasons }) => reasons);
    assert.ok(message.startsWith(`sluice.${label} `) && message.includes(reason), message);
    assert.match(message, /the form is sluice\.[^\n]*=.+$/);
    assert.doesNotMatch(message, /[\p{Cc}\u2028\u2029]/u);
  });

test('reads every supported label', () => {
  const { sites, bad, warnings } = readLabels({
    ...DOMAIN,
    'sluice.port': ' 8080 ',
    'sluice.tls': 'off',
    'sluice.listen': '8443, 8080,8443',
    'sluice.rate_limit': '10/s',
    'sluice.header.X-Frame-Options': 'DENY',
    'sluice.header.X.Dotted': '',
    'sluice.network': 'shop',
    'sluice.health': '/up?x=1',
    'sluice.hold': '1m30s',
    'sluice.upstream_tls': 'true',
    'sluice.analytics': 'off',
  });
  assert.deepEqual([bad, warnings], [[], []]);
  const { common: _, ...site } = sites[0] ?? { common: new Map() };
  assert.partialDeepStrictEqual(site, {
    site: null,
    domains: ['a.example'],
    port: 8080,
    network: 'shop',
    members: {
      https: 'off',
      ports: [8443, 8080],
      rate_limit_rps: 10,
      headers: [
        { name: 'X-Frame-Options', value: 'DENY' },
        { name: 'X.Dotted', value: '' },
      ],
      health: { path: '/up?x=1', interval_secs: 10, timeout_secs: 5 },
      hold_secs: 90,
      tls: true,
    },
  });
});

test('a header that appears twice in different case invalidates its site', () => {
  assert.match(reasonsOf({ ...DOMAIN, 'sluice.header.X-A': '1', 'sluice.header.x-a': '2' })[0] ?? '', /appears twice/);
});

test('a site without a domain is reported', () => {
  assert.deepEqual(reasonsOf({ 'sluice.port': '80' }), ['sluice.domain is missing: set it to the domain of the site']);
  assert.deepEqual(reasonsOf({ 'sluice.api.port': '80' }), ['sluice.api.domain is missing: set it to the domain of the site']);
});

test('an invalid site still has the domains that could be read', () => {
  assert.deepEqual(readLabels({ 'sluice.domain': 'a.example,b_.example', 'sluice.port': '80' }).bad[0]?.domains, ['a.example']);
});

for (const [label, meant] of [
  ['sluice.prot', 'sluice.port'],
  ['sluice.Domain', 'sluice.domain'],
  ['sluice.api.hlod', 'sluice.api.hold'],
  ['sluice.tranport', 'sluice.transport'],
  ['sluice.analytic', 'sluice.analytics'],
  ['sluice.netwrok', 'sluice.network'],
] as const)
  test(`${label} is unknown and harmless, and ${meant} is suggested`, () => {
    const { sites, warnings } = readLabels({ ...DOMAIN, [label]: 'x' });
    assert.equal(sites.length, 1);
    assert.deepEqual(warnings, [
      { code: 'unknown_label', domain: 'a.example', message: `${label} is not a Sluice label (did you mean ${meant}?)` },
    ]);
  });

for (const [label, advice] of [
  ['basic_auth', /labels cannot contain passwords: configure the site in the Sluicefile, with basic_auth/],
  ['basic_auth.admin', /labels cannot contain passwords/],
  ['basicauth', /labels cannot contain passwords/],
  ['basci_auth', /labels cannot contain passwords/],
  ['BASIC_AUTH', /labels cannot contain passwords/],
  ['auth', /labels cannot contain passwords/],
  ['users', /labels cannot contain passwords/],
  ['forward_auth', /configure the site in the Sluicefile, with forward_auth/],
  ['forward-auth.address', /with forward_auth/],
  ['captcha', /write sluice\.under_attack=on/],
  ...['ip_filter', 'ipfilters', 'allow', 'deny', 'ip_whitelist'].map((label) => [label, /configure the site in the Sluicefile/] as const),
  ['client_auth', /client_ca/],
  ['mtls', /client_ca/],
  ['ratelimit', /write sluice\.rate_limit=<n>\/s/],
  ['rate-limit', /write sluice\.rate_limit=<n>\/s/],
  ['Rate_Limit', /write sluice\.rate_limit=<n>\/s/],
  ['rate_limt', /write sluice\.rate_limit=<n>\/s/],
  ['rate_limit.burst', /write sluice\.rate_limit=<n>\/s/],
  ['upstream-tls', /write sluice\.upstream_tls=true/],
] as const)
  test(`a site is not served if sluice.${label}, which looks like a protection, is unknown`, () => {
    const labels = { ...DOMAIN, [`sluice.${label}`]: 'x-secret-x', 'sluice.api.domain': 'b.example' };
    const { sites, bad, warnings } = readLabels(labels);
    assert.deepEqual([sites.map(({ site }) => site), bad.map(({ domains }) => domains), warnings], [['api'], [['a.example']], []]);
    const [reason = ''] = bad.flatMap(({ reasons }) => reasons);
    assert.match(reason, advice);
    assert.ok(
      reason.startsWith(`sluice.${label} is not a Sluice label, and the site would be open without`) && !reason.includes('secret'),
      reason,
    );
  });

test('an unknown protection label invalidates the site it names, or all sites if it names none, but nothing if it is switched off', () => {
  const spoilt = (labels: Record<string, string>) => readLabels(labels).bad.map(({ site }) => site);
  const named = { 'sluice.web.domain': 'a.example', 'sluice.api.domain': 'b.example' };
  assert.deepEqual(spoilt({ ...named, 'sluice.api.basic_auth': 'x' }), ['api']);
  assert.deepEqual(spoilt({ ...named, ...DOMAIN, 'sluice.api.basic_auth.users': 'x' }), ['api']);
  assert.deepEqual(spoilt({ ...named, 'sluice.basic_auth': 'x' }), ['api', 'web']);
  assert.deepEqual(spoilt({ ...named, 'sluice.wbe.basic_auth': 'x' }), ['api', 'web']);
  assert.deepEqual(spoilt({ ...named, ...DOMAIN, 'sluice.wbe.basic_auth': 'x' }), [null, 'api', 'web']);
  assert.deepEqual(spoilt({ 'sluice.basic_auth': 'x' }), []);
  assert.deepEqual(spoilt({ ...DOMAIN, 'sluice.basic_auth': '' }), [null]);
  for (const value of ['off', 'false', ' no ', '0']) assert.deepEqual(spoilt({ ...DOMAIN, 'sluice.under_attack': value }), []);
});

for (const [value, analytics] of [
  ['on', {}],
  ['off', null],
] as const)
  test(`sluice.analytics=${value} sets the analytics of the route`, () => {
    const { sites, bad, warnings } = readLabels({ ...DOMAIN, 'sluice.analytics': value });
    assert.deepEqual([sites[0]?.members.analytics, bad, warnings], [analytics, [], []]);
  });

test('the order of the labels does not matter', () => {
  const labels = {
    'sluice.b.domain': 'b.example',
    ...DOMAIN,
    'sluice.a.domain': 'c.example',
    'sluice.header.B': '1',
    'sluice.header.A': '2',
  };
  const reversed = Object.fromEntries(Object.entries(labels).reverse());
  assert.deepEqual(readLabels(reversed), readLabels(labels));
  assert.deepEqual(
    readLabels(labels).sites.map(({ site }) => site),
    [null, 'a', 'b'],
  );
});
