import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Cidr, matcherOf, parseCidr } from './cidr.ts';

const ranges = (...texts: string[]): Cidr[] =>
  texts.map((text) => {
    const parsed = parseCidr(text);
    assert.ok(parsed.ok, text);
    return parsed.value;
  });
const reason = (text: string): string => {
  const parsed = parseCidr(text);
  return parsed.ok ? `accepted ${text}` : parsed.reason;
};

describe('an address range', () => {
  for (const text of ['10.0.0.0/8', '0.0.0.0/0', '192.168.1.5', '1.2.3.4/32', '::1', '::/0', 'fe80::/10', '2001:db8::/128'])
    it(`may be ${text}`, () => assert.deepEqual(parseCidr(text), { ok: true, value: text }));

  for (const text of ['', 'localhost', '10.0.0/8', '256.0.0.1', '10.0.0.0-10.0.0.9', '/8', '[::1]', ' 10.0.0.1', '*'])
    it(`may not be ${JSON.stringify(text)}`, () =>
      assert.equal(reason(text), 'it is not an IP address or range (expected 10.0.0.0/8 or ::1)'));

  for (const text of ['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.0/a', '10.0.0.0/ 8'])
    it(`has at most 32 bits in IPv4: ${text}`, () => assert.equal(reason(text), 'the prefix length must be a number from 0 to 32'));

  it('has at most 128 bits in IPv6', () => assert.equal(reason('::/129'), 'the prefix length must be a number from 0 to 128'));
});

describe('a list of address ranges', () => {
  const trusted = matcherOf(ranges('10.0.0.0/8', '192.168.1.5', 'fe80::/10', '2001:db8::7'));

  for (const address of ['10.0.0.0', '10.255.255.255', '192.168.1.5', 'fe80::1', 'febf::1', '2001:db8::7', '2001:0db8:0::0007'])
    it(`contains ${address}`, () => assert.equal(trusted(address), true));

  for (const address of ['9.255.255.255', '11.0.0.0', '192.168.1.6', 'fec0::1', '2001:db8::8', '::1', '', 'localhost', '10.0.0.1:80'])
    it(`does not contain ${JSON.stringify(address)}`, () => assert.equal(trusted(address), false));

  it('recognizes an IPv4 address in the form that a dual-stack socket reports', () => {
    assert.equal(trusted('::ffff:10.1.2.3'), true);
    assert.equal(trusted('::ffff:11.1.2.3'), false);
  });

  it('contains nothing if empty, and its whole address family with /0', () => {
    assert.equal(matcherOf([])('127.0.0.1'), false);
    assert.equal(matcherOf(ranges('0.0.0.0/0'))('203.0.113.9'), true);
    assert.equal(matcherOf(ranges('0.0.0.0/0'))('2001:db8::1'), false);
    assert.equal(matcherOf(ranges('::/0'))('2001:db8::1'), true);
    assert.equal(matcherOf(ranges('::/0', '::/64'))('203.0.113.9'), false);
  });

  it('recognizes an IPv4 range that is written as an IPv6 range', () => {
    const mapped = matcherOf(ranges('::ffff:10.0.0.0/104', '::ffff:192.168.1.5'));
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.168.1.5', '::ffff:c0a8:105']) assert.equal(mapped(address), true, address);
    for (const address of ['11.1.2.3', '::ffff:11.1.2.3', '192.168.1.6']) assert.equal(mapped(address), false, address);
  });
});
