import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AvailableIssuers, issuerOf, type SiteIssuance } from './issuer.ts';

const NO_ISSUERS: AvailableIssuers = { automatic: false, anyName: false, dns: false, internal: false, local: false };
const BOTH: AvailableIssuers = { ...NO_ISSUERS, automatic: true, internal: true };
const auto = (domain: string): SiteIssuance => ({ domain, https: 'auto' });
const internal = (domain: string): SiteIssuance => ({ domain, https: 'internal' });

test('only a site that selects the internal authority uses it, regardless of its name', () => {
  for (const domain of ['a.test', '*.a.test', 'localhost', '192.0.2.1']) assert.equal(issuerOf(internal(domain), BOTH), 'internal');
  assert.equal(issuerOf(internal('shop.example.com'), { ...BOTH, internal: false }), null);
});

test('with local_certs every site without its own setting uses the internal authority, and ACME is not used', () => {
  const local = { ...BOTH, local: true };
  for (const domain of ['shop.example.com', '*.a.test', '192.0.2.1']) assert.equal(issuerOf(auto(domain), local), 'internal');
  assert.equal(issuerOf(auto('shop.example.com'), { ...local, internal: false }), null);
});

test('without local_certs a site without its own setting uses ACME if its name allows it', () => {
  assert.equal(issuerOf(auto('shop.example.com'), BOTH), 'acme');
  assert.equal(issuerOf(auto('a.test'), BOTH), null);
  assert.equal(issuerOf(auto('shop.example.com'), NO_ISSUERS), null);
});

test('a site with https off and the catch-all have no issuer', () => {
  const all = { ...BOTH, anyName: true, local: true };
  assert.equal(issuerOf({ domain: 'shop.example.com', https: 'off' }, all), null);
  for (const site of [auto('*'), internal('*')]) assert.equal(issuerOf(site, all), null);
});
