import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultNameOf, isDefaultName, parseCertificateName } from './default-certificate.ts';

test('the name of a default certificate is read as written', () => {
  for (const [place, name] of [
    [{ address: null, port: 443 }, '*@:443'],
    [{ address: '192.0.2.1', port: 8443 }, '*@192.0.2.1:8443'],
    [{ address: '2001:db8::1', port: 443 }, '*@[2001:db8::1]:443'],
  ] as const) {
    assert.equal(defaultNameOf(place), name);
    assert.ok(isDefaultName(name));
    assert.deepEqual(parseCertificateName(name), { ok: true, value: name });
  }
});

test('a certificate is for domains or for a place, and for nothing else', () => {
  for (const name of ['a.test', '*.a.test']) assert.deepEqual(parseCertificateName(name), { ok: true, value: name });
  for (const name of [
    '*',
    '*@',
    '*@443',
    '*@:0',
    '*@:65536',
    '*@a.test:443',
    '*@1.2.3:443',
    '*@[::1:443',
    '*@192.0.2.1:443/x',
    '*@../x:443',
  ])
    assert.equal(parseCertificateName(name).ok, false, name);
});
