import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainMissing, explainPlainHttp, siteFor } from './explain-certificate.ts';

test('a site that will not get a certificate is explained with a reason', () => {
  const asked = { anyName: false, dns: false };
  assert.equal(explainMissing({ domain: 'a.test', https: 'off' }, asked), 'the site says tls off');
  assert.equal(explainMissing({ domain: 'shop.example.com', https: 'auto' }, null), 'no e-mail is set');
  assert.equal(explainMissing({ domain: 'shop.example.com', https: 'auto' }, null, 'none are ordered'), 'none are ordered');
  assert.equal(explainMissing({ domain: '*', https: 'auto' }, asked), 'it matches every host');
  assert.match(explainMissing({ domain: '*.example.com', https: 'auto' }, asked), /--acme-dns-hook/);
  assert.match(explainMissing({ domain: 'a.test', https: 'auto' }, asked), /under test$/);
  assert.equal(explainMissing(null, asked), 'nothing is routed there');
});

test('plain HTTP by choice is distinguished from plain HTTP for lack of a certificate', () => {
  const asked = { anyName: false, dns: false };
  assert.match(explainPlainHttp({ domain: 'a.example.com', https: 'off' }, false, asked), /by choice, the site says tls off$/);
  assert.match(explainPlainHttp({ domain: 'nas.internal', https: 'auto' }, false, asked), /^none, so it stays on HTTP: .* under internal$/);
  assert.match(
    explainPlainHttp({ domain: '*.example.com', https: 'auto' }, false, asked),
    /^none, so it stays on HTTP: a wildcard is verified over DNS/,
  );
  assert.match(explainPlainHttp({ domain: 'nas', https: 'auto' }, false, asked), /^none, so it stays on HTTP: it has no dot/);
  assert.equal(explainPlainHttp({ domain: 'a.example.com', https: 'auto' }, false, null), 'none, so it stays on HTTP: no e-mail is set');
  assert.equal(explainPlainHttp({ domain: 'a.example.com', https: 'auto' }, true, asked), 'none needed: plain HTTP');
});

test('a host is explained by the site that routes it', () => {
  const sites = new Map([
    ['*.a.test', 'off'],
    ['b.test', 'auto'],
    ['*', 'internal'],
  ] as const);
  const site = (domain: string) => {
    const https = sites.get(domain as '*');
    return https === undefined ? null : { domain, https };
  };
  assert.deepEqual(
    ['x.a.test', 'b.test', 'c.test'].map((host) => siteFor(host, { site })?.https),
    ['off', 'auto', 'internal'],
  );
});
