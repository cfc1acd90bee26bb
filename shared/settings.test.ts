import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseGlobals } from './settings.ts';

const reason = (input: unknown): string => {
  const parsed = parseGlobals(input);
  return parsed.ok ? 'accepted' : parsed.reason;
};

describe('parseGlobals', () => {
  it('accepts an empty object', () => assert.deepEqual(parseGlobals({}), { ok: true, value: {} }));

  it('keeps known members and drops the others', () => {
    const all = {
      http_port: 1,
      https_port: 65_535,
      bind: '::1',
      email: 'a@b.example',
      trusted_proxies: ['10.0.0.0/8', '::1'],
      drain_timeout: 0,
    };
    assert.deepEqual(parseGlobals({ ...all, unknown: 1 }), { ok: true, value: all });
  });

  const BAD: [member: string, input: unknown][] = [
    ['http_port', { http_port: 0 }],
    ['http_port', { http_port: 65_536 }],
    ['http_port', { http_port: '80' }],
    ['https_port', { https_port: 1.5 }],
    ['bind', { bind: 'localhost' }],
    ['bind', { bind: '' }],
    ['email', { email: 'a@' }],
    ['email', { email: `${'a'.repeat(320)}@` }],
    ['trusted_proxies.1', { trusted_proxies: ['10.0.0.0/8', '10.0.0.0/33'] }],
    ['trusted_proxies', { trusted_proxies: '10.0.0.0/8' }],
    ['trusted_proxies', { trusted_proxies: new Array(1_001).fill('::1') }],
    ['drain_timeout', { drain_timeout: -1 }],
    ['drain_timeout', { drain_timeout: 86_400_001 }],
    ['settings', null],
    ['settings', 'text'],
    ['settings', []],
  ];
  for (const [member, input] of BAD) {
    it(`rejects ${member}: ${JSON.stringify(input).slice(0, 50)}`, () => {
      assert.ok(reason(input).startsWith(`${member}: `), reason(input));
    });
  }

  it('gives the reason for an invalid address', () => {
    assert.equal(reason({ trusted_proxies: ['x'] }), 'trusted_proxies.0: it is not an IP address or range (expected 10.0.0.0/8 or ::1)');
    assert.equal(reason({ bind: 'x' }), 'bind: bind must be an IP address');
  });
});
