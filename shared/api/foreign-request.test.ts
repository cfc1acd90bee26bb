import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foreignRequest, type KnownBy, onSocket, onThisMachine } from './foreign-request.ts';

type Case = readonly [what: string, headers: Record<string, string>, url?: string];

const asked = ([, headers, url = '/routes']: Case): string | null =>
  foreignRequest(
    { url, headers, headersDistinct: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])) },
    onThisMachine(['sluice']),
  );

const OWN: readonly Case[] = [
  ['curl by address', { host: '127.0.0.1:6190' }],
  ['curl by another address of the machine', { host: '192.0.2.7' }],
  ['curl by an IPv6 address', { host: '[::1]:6190' }],
  ['curl by an IPv6 address without a port', { host: '[::1]' }],
  ['curl by localhost, regardless of case and a trailing dot', { host: 'LocalHost.:6190' }],
  ['a configured name', { host: 'sluice' }],
  ['a configured name with a port', { host: 'Sluice:80' }],
  ['HTTP/1.0 without a Host', {}],
  ['a target in absolute form', { host: 'localhost' }, 'http://127.0.0.1:6190/routes'],
  ['an address typed into a browser', { host: 'localhost:6190', 'sec-fetch-site': 'none' }],
  ['a page of the service itself', { host: 'localhost:6190', origin: 'http://localhost:6190', 'sec-fetch-site': 'same-origin' }],
  ['a page of the service behind a forwarded port', { host: '127.0.0.1:9000', origin: 'http://127.0.0.1:9000' }],
  ['a page of the service on the default port', { host: 'localhost:80', origin: 'http://localhost' }],
];

const FOREIGN: readonly Case[] = [
  ['another site', { host: '127.0.0.1:6190', 'sec-fetch-site': 'cross-site' }],
  ['another port of this machine', { host: 'localhost:6190', 'sec-fetch-site': 'same-site' }],
  ['an unknown value of Sec-Fetch-Site', { host: 'localhost:6190', 'sec-fetch-site': 'cross-origin' }],
  ['another origin', { host: '127.0.0.1:6190', origin: 'https://evil.example' }],
  ['an origin with another port', { host: 'localhost:6190', origin: 'http://localhost:8080' }],
  ['a hidden origin', { host: 'localhost:6190', origin: 'null' }],
  ['an empty origin', { host: 'localhost:6190', origin: '' }],
  ['an origin with another scheme', { host: 'localhost:6190', origin: 'chrome-extension://localhost:6190' }],
  ['an origin without a Host', { origin: 'https://evil.example' }],
  ['a name that resolves to loopback', { host: 'rebound.example:6190' }],
  ['a name and its own origin', { host: 'rebound.example', origin: 'http://rebound.example', 'sec-fetch-site': 'same-origin' }],
  ['a name with the same ending as localhost', { host: 'notlocalhost' }],
  ['a subdomain of localhost, which proxied sites use', { host: 'app.localhost:6190' }],
  ['a name that starts like an address', { host: '127.0.0.1.evil.example' }],
  ['a short form of an address', { host: '127.1' }],
  ['an empty Host', { host: '' }],
  ['a foreign target in absolute form', { host: 'localhost' }, 'http://rebound.example/routes'],
];

for (const one of OWN) test(`allows ${one[0]}`, () => assert.equal(asked(one), null));
for (const one of FOREIGN) test(`rejects ${one[0]}`, () => assert.notEqual(asked(one), null));

test('rejects two Host fields if one of them is foreign', () => {
  const headers = { host: 'localhost' };
  assert.notEqual(foreignRequest({ url: '/', headers, headersDistinct: { host: ['localhost', 'evil.example'] } }, onThisMachine([])), null);
});

test('a service with a certificate accepts the names and addresses it covers, and no other address or localhost', () => {
  const covered: KnownBy = {
    knows: (host) => ['admin.example', '192.0.2.7', '2001:db8::7'].includes(host),
    otherName: 'not in the certificate',
  };
  const asks = (host: string) => foreignRequest({ url: '/', headers: { host }, headersDistinct: { host: [host] } }, covered);
  for (const host of ['admin.example', 'Admin.Example.:6190', '192.0.2.7:6190', '[2001:db8::7]:6190', '[2001:DB8::7]'])
    assert.equal(asks(host), null, host);
  for (const host of ['localhost:6190', '127.0.0.1', '192.0.2.8', 'other.example'])
    assert.equal(asks(host), 'not in the certificate', host);
});

test('a service on a socket accepts a name without a dot, an address and an empty Host, but no page of them', () => {
  const asked = (host: string, more: Record<string, string> = {}) =>
    foreignRequest({ url: '/', headers: { host, ...more }, headersDistinct: { host: [host] } }, onSocket);
  for (const host of ['', 'unix', 'sluice:80', 'localhost.', '127.0.0.1', '[::1]']) assert.equal(asked(host), null, host);
  for (const host of ['rebound.example', 'app.localhost', '127.1', 'a/b', 'a%2eb']) assert.equal(asked(host), onSocket.otherName, host);
  for (const host of ['', 'unix']) assert.notEqual(asked(host, { origin: 'http://rebound.example' }), null, host);
});
