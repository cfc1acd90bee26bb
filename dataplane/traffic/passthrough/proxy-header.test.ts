import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyHeader } from './proxy-header.ts';

const end = (address: string, port: number) => ({ address, port });

test('version 1 is a line of text', () => {
  assert.equal(`${proxyHeader('v1', end('192.0.2.7', 5_000), end('10.0.0.1', 443))}`, 'PROXY TCP4 192.0.2.7 10.0.0.1 5000 443\r\n');
  assert.equal(
    `${proxyHeader('v1', end('2001:db8::7', 5_000), end('2001:db8::1', 443))}`,
    'PROXY TCP6 2001:db8::7 2001:db8::1 5000 443\r\n',
  );
  assert.equal(`${proxyHeader('v1', end('192.0.2.7', 0), end('2001:db8::1', 443))}`, 'PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 0 443\r\n');
});

test('version 2 has the addresses and ports as bytes', () => {
  const signature = '0d0a0d0a000d0a515549540a';
  const four = proxyHeader('v2', end('192.0.2.7', 5_000), end('10.0.0.1', 443));
  assert.equal(four.toString('hex'), `${signature}2111000c${'c0000207'}${'0a000001'}${'1388'}${'01bb'}`);
  const six = proxyHeader('v2', end('2001:db8::a:7', 5_000), end('192.0.2.7', 443));
  assert.equal(
    six.toString('hex'),
    `${signature}21210024${'20010db80000000000000000000a0007'}${'00000000000000000000ffffc0000207'}${'1388'}${'01bb'}`,
  );
  const local = proxyHeader('v2', end('::1', 1), end('fe80::1%eth0', 2));
  assert.equal(local.subarray(16).toString('hex'), `${'0'.repeat(31)}1${'fe80'}${'0'.repeat(27)}1${'0001'}${'0002'}`);
});
