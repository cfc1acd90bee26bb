import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAddress, splitAddress } from './address.ts';

const reason = (text: string): string => {
  const parsed = parseAddress(text);
  return parsed.ok ? `accepted ${text}` : parsed.reason;
};

describe('an upstream address', () => {
  const GOOD = [
    '10.0.0.1:80',
    '[::1]:8080',
    '[2001:db8::7]:1',
    'localhost:65535',
    'app:3000',
    'my_app.web_1:3000',
    'a.b.example:443',
    'Mixed.Case:1',
  ];
  for (const text of GOOD) {
    it(`may be ${text}, and stays as it was written`, () => assert.deepEqual(parseAddress(text), { ok: true, value: text }));
  }

  const BAD: Record<string, RegExp> = {
    '': /no host/,
    ':80': /no host/,
    '[]:80': /no host/,
    app: /no port/,
    'app:': /no port/,
    '[::1]': /no port/,
    'app:0': /a port is a number from 1 to 65535/,
    'app:65536': /a port is a number/,
    'app:080': /a port is a number/,
    'app:8o': /a port is a number/,
    'app: 80': /a port is a number/,
    'app:80/': /a port is a number/,
    '::1:80': /in brackets/,
    '[1.2.3.4]:80': /brackets hold no IPv6/,
    '[app]:80': /brackets hold no IPv6/,
    '[::1]x:80': /brackets hold no IPv6/,
    '1.2.3:80': /looks like an IPv4 address/,
    '1.2.3.256:80': /looks like an IPv4 address/,
    'a b:80': /neither an address nor a host name/,
    '-a:80': /neither an address nor a host name/,
    'a..b:80': /neither an address nor a host name/,
    'a.:80': /neither an address nor a host name/,
    'ä:80': /neither an address nor a host name/,
    'a/b:80': /neither an address nor a host name/,
    'http://app:80': /no scheme/,
    'http://app': /no scheme/,
    [`${'a'.repeat(64)}:80`]: /neither an address nor a host name/,
    [`${'a.'.repeat(127)}a:80`]: /neither an address nor a host name/,
  };
  for (const [text, expected] of Object.entries(BAD)) {
    it(`may not be "${text.slice(0, 30)}"`, () => assert.match(reason(text), expected));
  }

  it('may be as long as a host name may be', () => {
    assert.ok(parseAddress(`${'a.'.repeat(126)}a:80`).ok);
    assert.ok(parseAddress(`${'a'.repeat(63)}:80`).ok);
  });

  it('comes apart at the last colon, without brackets', () => {
    assert.deepEqual(splitAddress('[::1]:80'), { host: '::1', port: '80' });
    assert.deepEqual(splitAddress('app:80'), { host: 'app', port: '80' });
    assert.deepEqual(splitAddress('app'), { host: 'app', port: '' });
    assert.deepEqual(splitAddress('[::1]'), { host: '[::1]', port: '' });
  });
});
