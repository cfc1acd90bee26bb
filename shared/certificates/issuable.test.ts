import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notIssuableReason } from './issuable.ts';

const PUBLIC = { anyName: false, dns: false };
const PRIVATE = { anyName: true, dns: false };

test('a public authority issues for public names', () => {
  for (const name of ['a.com', 'www.example.com', 'xn--bcher-kva.ch', 'testing.dev', 'notlocal.io'])
    assert.equal(notIssuableReason(name, PUBLIC), null, name);
});

test('a public authority does not issue for local, private or reserved names', () => {
  const names = [
    'localhost',
    'app',
    'a.localhost',
    'nas.local',
    'db.internal',
    'a.test',
    'x.example',
    'y.invalid',
    'router.home.arpa',
    'home.arpa',
    '10.0.0.1',
    '*',
  ];
  for (const name of names) assert.notEqual(notIssuableReason(name, PUBLIC), null, name);
});

test('a private authority issues for every name, but not for addresses', () => {
  for (const name of ['app', 'a.test', 'nas.local']) assert.equal(notIssuableReason(name, PRIVATE), null, name);
  for (const name of ['10.0.0.1', '*']) assert.notEqual(notIssuableReason(name, PRIVATE), null, name);
});

test('a wildcard needs DNS validation', () => {
  assert.match(notIssuableReason('*.a.com', PUBLIC) ?? '', /--acme-dns-hook/);
  assert.equal(notIssuableReason('*.a.com', { anyName: false, dns: true }), null);
});
