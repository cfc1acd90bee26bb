import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { makePair } from './certificates/testing/pairs.ts';
import { CONDITION_MEMBERS } from './concealed-conditions.ts';
import { redacted } from './redacted.ts';
import { parseRoute, type RouteSpec, routeSchema } from './route.ts';

const hash = (ending: string): string => `$2b$10$${'a'.repeat(52)}${ending}`;

function guarded(first: string, second: string): RouteSpec {
  const basicAuth = (of: string) => ({ users: [{ name: 'bob', hash: of }] });
  const route = parseRoute({
    domain: 'a.example',
    upstream: 'up:1',
    tls: false,
    basic_auth: basicAuth(first),
    handles: [{ path: '/x', basic_auth: basicAuth(second) }, { path: '/y' }],
  });
  assert.ok(route.ok);
  return route.value;
}

test('redaction hides the hashes of sites and blocks, and nothing else', () => {
  const route = guarded(hash('a'), hash('b'));
  const shown = redacted(route);
  assert.doesNotMatch(JSON.stringify(shown), /\$2|aaaa/);
  const names = (spec: RouteSpec) => [spec.basic_auth, ...spec.handles.map((one) => one.basic_auth)].map((one) => one?.users[0]?.name);
  assert.deepEqual(names(shown), ['bob', 'bob', undefined]);
  assert.deepEqual({ ...shown, basic_auth: null, handles: null }, { ...route, basic_auth: null, handles: null });
});

test('two hashes have the same mark only if they are equal', () => {
  const marks = ({ basic_auth, handles }: RouteSpec) => [basic_auth?.users[0]?.hash, handles[0]?.basic_auth?.users[0]?.hash];
  const [one, same] = marks(redacted(guarded(hash('a'), hash('a'))));
  assert.equal(one, same);
  const [first, second] = marks(redacted(guarded(hash('a'), hash('b'))));
  assert.notEqual(first, second);
});

test('a redacted route cannot be parsed as a route', () => {
  assert.equal(parseRoute(redacted(guarded(hash('a'), hash('b')))).ok, false);
});

test('a route without secrets stays unchanged', () => {
  const route = parseRoute({ domain: 'a.example', upstream: 'up:1', tls: false });
  assert.ok(route.ok);
  assert.equal(redacted(route.value), route.value);
});

test('redaction hides the values that a site sends to its upstream in fields and parameters, except placeholders and hosts', () => {
  const changes = {
    request_headers: [
      { name: 'Authorization', value: 'Bearer hunter2' },
      { name: 'X-Client', value: '{client_ip}' },
      { name: 'Host', value: 'b.example' },
      { name: 'X-Old', value: null },
    ],
    uri: [{ query: { name: 'key', op: 'set', value: 'hunter2' } }, { query: { name: 'a', op: 'rename', value: 'b' } }],
  };
  const route = parseRoute({ domain: 'a.example', upstream: 'up:1', tls: false, ...changes, handles: [{ path: '/x', ...changes }] });
  assert.ok(route.ok);
  const shown = redacted(route.value);
  assert.doesNotMatch(JSON.stringify(shown), /hunter2/);
  for (const { request_headers, uri } of [shown, ...shown.handles]) {
    assert.match(request_headers?.[0]?.value ?? '', /^\{redacted-[0-9a-f]{4}\}$/);
    assert.deepEqual(request_headers?.slice(1), changes.request_headers.slice(1));
    assert.match(uri?.[0]?.query?.value ?? '', /^\{redacted-/);
    assert.deepEqual(uri?.[1], changes.uri[1]);
  }
  assert.equal(parseRoute(shown).ok, false);
});

test('redaction hides the keys of client certificates for upstreams', async () => {
  const [one, other] = await Promise.all([makePair(['proxy']), makePair(['proxy'])]);
  const transport = ({ certificate, privateKey }: typeof one) => ({ client_certificate: { certificate, private_key: privateKey } });
  const upstreams = [{ address: 'up:2' }];
  const parsed = parseRoute({
    domain: 'a.example',
    upstream: 'up:1',
    tls: true,
    transport: transport(one),
    handles: [
      { path: '/x', tls: true, upstreams, transport: transport(other) },
      { path: '/y', tls: true, upstreams, transport: transport(one) },
    ],
  });
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.reason);
  const shown = redacted(parsed.value);
  assert.doesNotMatch(JSON.stringify(shown), /PRIVATE KEY/);
  const pairs = [shown, ...shown.handles].map((part) => part.transport?.client_certificate);
  assert.deepEqual(
    pairs.map((pair) => pair?.certificate),
    [one, other, one].map(({ certificate }) => certificate),
  );
  const [site, x, y] = pairs.map((pair) => pair?.private_key);
  assert.equal(site, y);
  assert.notEqual(site, x);
  assert.equal(parseRoute(shown).ok, false);
});

const PAGE = '/x?key=hunter2';

test('redaction hides what conditions compare fields and parameters with, and queries for upstreams', () => {
  const match = {
    name: '@keyed',
    header: [
      { name: 'X-Key', values: ['hunter2', '*'] },
      { name: 'X-Any', values: [] },
    ],
    query: [{ name: 'key', values: ['hunter2'] }],
    header_regexp: [{ name: 'X-Key', pattern: '^hunter2' }],
    query_regexp: [{ name: 'key', pattern: 'hunter2$' }],
    path: ['/x/*'],
    not: [{ header: [{ name: 'X-Other', values: ['hunter2*'] }] }],
  };
  const members = {
    responds: [{ match, status: 403 }],
    redirects: [{ from: '/*', to: '/y', status: 302, match }],
    rewrites: [
      { to: PAGE, match },
      { to: '/{path}?{query}', match },
    ],
    maintenance: { on: true, match },
    cache: { bypass: match },
    health: { path: PAGE },
    forward_auth: { upstreams: ['auth:1'], uri: PAGE },
  };
  const challenge = { except: [match] };
  const given = { domain: 'a.example', upstream: 'up:1', tls: false, ...members, challenge, handles: [{ path: null, match, ...members }] };
  const route = parseRoute(given);
  assert.ok(route.ok, route.ok ? '' : route.reason);
  const shown = redacted(route.value);
  assert.doesNotMatch(JSON.stringify(shown), /hunter2/);
  const concealed = shown.handles[0]?.match;
  assert.deepEqual([concealed?.name, concealed?.path, concealed?.header?.[1]], ['@keyed', ['/x/*'], match.header[1]]);
  assert.match(`${concealed?.header?.[0]?.values.join(' ')}`, /^\{redacted-[0-9a-f]{4}\} \*$/);
  assert.equal(shown.rewrites?.[1]?.to, '/{path}?{query}');
  for (const part of [
    { handles: shown.handles },
    { rewrites: shown.rewrites },
    { health: shown.health },
    { forward_auth: shown.forward_auth },
  ])
    assert.equal(parseRoute({ ...given, ...part }).ok, false, Object.keys(part).join());
});

for (const member of ['header', 'query', 'header_regexp', 'query_regexp'] as const)
  test(`a route whose condition about ${member} is redacted cannot be parsed`, () => {
    const compared = member.endsWith('regexp') ? { pattern: 'hunter2' } : { values: ['hunter2'] };
    const base = { domain: 'a.example', upstream: 'up:1', tls: false };
    const route = parseRoute({ ...base, handles: [{ path: null, match: { [member]: [{ name: 'key', ...compared }] } }] });
    assert.ok(route.ok, route.ok ? '' : route.reason);
    const again = parseRoute(redacted(route.value));
    assert.match(again.ok ? '' : again.reason, /this value is redacted/);
  });

test('every condition of a route is in a member that redaction knows', () => {
  type Schema = { readonly title?: string; readonly properties?: object; readonly anyOf?: readonly Schema[]; readonly items?: Schema };
  const names = new Set<string>();
  const walk = ({ title, properties = {}, anyOf = [], items }: Schema, name: string): void => {
    if (title === 'match') names.add(name);
    for (const [member, inside] of Object.entries(properties)) walk(inside, member);
    for (const inside of [...anyOf, ...(items ? [items] : [])]) walk(inside, name);
  };
  walk(z.toJSONSchema(routeSchema, { io: 'input', unrepresentable: 'any' }) as Schema, '');
  assert.deepEqual(names, CONDITION_MEMBERS);
});
