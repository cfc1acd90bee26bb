import assert from 'node:assert/strict';
import { test } from 'node:test';
import { whyNone } from './why-none.ts';

test('a site without a certificate, and without one to come, has a reason', () => {
  const asked = { anyName: false, dns: false };
  assert.equal(whyNone({ domain: 'a.test', https: 'off' }, asked), 'the site says tls off');
  assert.equal(whyNone({ domain: 'shop.example.com', https: 'auto' }, null), 'no e-mail is set');
  assert.equal(whyNone({ domain: '*', https: 'auto' }, asked), 'it is every host');
  assert.match(whyNone({ domain: '*.example.com', https: 'auto' }, asked), /--acme-dns-hook/);
  assert.match(whyNone({ domain: 'a.test', https: 'auto' }, asked), /under test$/);
  assert.equal(whyNone(null, asked), 'nothing is routed there');
});
