import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metaPolicies, parsePolicies, reportedPolicies, scriptNonce } from './content-security-policy.ts';

/** The nonce for a page at https://shop.example with these fields; null where the script is forbidden. */
const nonce = (...fields: readonly string[]) => scriptNonce(fields.flatMap(parsePolicies), { secure: true, host: 'shop.example' });

for (const [policy, expected] of [
  ['', ''],
  ["default-src 'self'", ''],
  ["Default-Src 'SELF'", ''],
  ['default-src *', ''],
  ['default-src https:', ''],
  ['default-src http:', ''],
  ["img-src 'none'; object-src 'none'", ''],
  ["default-src 'none'; script-src 'self'; connect-src 'self'", ''],
  ["script-src 'none'; script-src-elem 'self'", ''],
  ["script-src 'self' 'unsafe-inline'", ''],
  ['script-src shop.example; connect-src https://shop.example', ''],
  ['script-src https://shop.example:443/.sluice/', ''],
  ['script-src *.example:*; connect-src shop.example/.sluice/', ''],
  ["script-src 'nonce-r4nd0m=='", 'r4nd0m=='],
  ["script-src 'strict-dynamic' 'nonce-abc-_/+' 'unsafe-inline' https:", 'abc-_/+'],
  ["script-src 'self' 'nonce-abc'", ''],
  ["script-src 'self'; script-src 'none'", ''],
  ["script-src 'self', script-src 'nonce-abc' 'self'", ''],
  ["script-src 'self', script-src 'nonce-abc'", 'abc'],
  ["script-src 'nonce-x', script-src 'nonce-x' 'nonce-y'", 'x'],
  ['sandbox allow-forms Allow-Scripts allow-same-origin', ''],
  ['script-src https://*; connect-src https://*:*', ''],
  ["default-src 'self'; connect-src shop.example/.sluice/vitals", ''],
  ["default-src 'none'", null],
  ["script-src 'none'", null],
  ['script-src', null],
  ["script-src 'sha256-abc='", null],
  ["script-src 'strict-dynamic' 'self'", null],
  ["script-src 'unsafe-inline'", null],
  ['script-src https://cdn.example', null],
  ['script-src http://shop.example:8080', null],
  ['script-src *.shop.example', null],
  ['script-src shop.example/static/', null],
  ['script-src shop.example/.SLUICE/', null],
  ['script-src data:', null],
  ["script-src 'nonce-x', script-src 'nonce-y'", null],
  ["script-src 'self'; connect-src 'none'", null],
  ["script-src 'self'; connect-src https://api.example", null],
  ['sandbox', null],
  ['sandbox allow-scripts', null],
  ['sandbox allow-same-origin', null],
  ["default-src 'self'; connect-src shop.example/.sluice/vitals.js", null],
  ['script-src *x.example', null],
  [`script-src 'nonce-"><img'`, null],
] as const)
  test(`${policy || 'no policy'}: ${expected === null ? 'forbidden' : expected === '' ? 'allowed' : `allowed with ${expected}`}`, () =>
    assert.equal(nonce(policy), expected));

test('every field counts', () => {
  assert.equal(nonce("default-src 'self'", "script-src 'none'"), null);
  assert.equal(nonce("default-src 'self'", "script-src 'nonce-a'"), 'a');
});

test('over plain HTTP https: sources do not match, and the port is 80', () => {
  const origin = { secure: false, host: 'shop.example' };
  for (const [policy, expected] of [
    ['script-src https:', null],
    ['script-src http:', ''],
    ['script-src shop.example:443', null],
    ['script-src shop.example:80', ''],
  ] as const)
    assert.equal(scriptNonce(parsePolicies(policy), origin), expected, policy);
});

test('a port of the host is part of it', () => {
  const origin = { secure: true, host: 'shop.example:8443' };
  assert.equal(scriptNonce(parsePolicies('script-src shop.example:8443'), origin), '');
  assert.equal(scriptNonce(parsePolicies('script-src shop.example'), origin), null);
});

test('a <meta> has no sandbox, and its commas are read in both ways', () => {
  const origin = { secure: true, host: 'shop.example' };
  for (const [content, expected] of [
    ['sandbox', ''],
    ["sandbox; script-src 'none'", null],
    ["script-src 'self', img-src 'none'", null],
    ["img-src 'self', script-src 'none'", null],
    ["script-src 'self' 'none', img-src *", ''],
  ] as const)
    assert.equal(scriptNonce(metaPolicies(content), origin), expected, content);
});

test('a policy that is only reported on counts, but for its sandbox', () => {
  const origin = { secure: true, host: 'shop.example' };
  assert.equal(scriptNonce(reportedPolicies("script-src 'none'"), origin), null);
  assert.equal(scriptNonce(reportedPolicies("sandbox; script-src 'nonce-a'"), origin), 'a');
});

test('an address in brackets matches no source but the origin itself', () => {
  const origin = { secure: true, host: '[::1]' };
  assert.equal(scriptNonce(parsePolicies('script-src https://[::1]'), origin), null);
  assert.equal(scriptNonce(parsePolicies("script-src 'self'"), origin), '');
});

test('a page with very many nonces is judged in one pass', () => {
  const many = (prefix: string) => `script-src ${Array.from({ length: 20_000 }, (_, at) => `'nonce-${prefix}${at}'`).join(' ')}`;
  assert.equal(nonce(many('a'), many('b')), null);
  assert.equal(nonce(many('a'), `${many('b')} 'nonce-a19999'`), 'a19999');
});
