import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { certificateName, connectOptions, parseAddress, parseUpstream, splitAddress } from './address.ts';

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
    it(`may be ${text}, and keeps that form`, () => assert.deepEqual(parseAddress(text), { ok: true, value: text }));
  }

  const BAD: Record<string, RegExp> = {
    '': /host is missing/,
    ':80': /host is missing/,
    '[]:80': /host is missing/,
    app: /port is missing/,
    'app:': /port is missing/,
    '[::1]': /port is missing/,
    'app:0': /a port must be a number from 1 to 65535/,
    'app:65536': /a port must be a number/,
    'app:080': /a port must be a number/,
    'app:8o': /a port must be a number/,
    'app: 80': /a port must be a number/,
    'app:80/': /a port must be a number/,
    '::1:80': /in brackets/,
    '[1.2.3.4]:80': /in brackets is not an IPv6/,
    '[app]:80': /in brackets is not an IPv6/,
    '[::1]x:80': /in brackets is not an IPv6/,
    '1.2.3:80': /looks like an IPv4 address/,
    '1.2.3.256:80': /looks like an IPv4 address/,
    'a b:80': /neither an address nor a host name/,
    '-a:80': /neither an address nor a host name/,
    'a..b:80': /neither an address nor a host name/,
    'a.:80': /neither an address nor a host name/,
    'ä:80': /neither an address nor a host name/,
    'a/b:80': /neither an address nor a host name/,
    'http://app:80': /must not have a scheme/,
    'http://app': /must not have a scheme/,
    [`${'a'.repeat(64)}:80`]: /neither an address nor a host name/,
    [`${'a.'.repeat(127)}a:80`]: /neither an address nor a host name/,
  };
  for (const [text, expected] of Object.entries(BAD)) {
    it(`may not be "${text.slice(0, 30)}"`, () => assert.match(reason(text), expected));
  }

  it('may have the longest possible host name', () => {
    assert.ok(parseAddress(`${'a.'.repeat(126)}a:80`).ok);
    assert.ok(parseAddress(`${'a'.repeat(63)}:80`).ok);
  });

  it('is split at the last colon, without brackets', () => {
    assert.deepEqual(splitAddress('[::1]:80'), { host: '::1', port: '80' });
    assert.deepEqual(splitAddress('app:80'), { host: 'app', port: '80' });
    assert.deepEqual(splitAddress('app'), { host: 'app', port: '' });
    assert.deepEqual(splitAddress('[::1]'), { host: '[::1]', port: '' });
  });
});

describe('a target at a Unix socket', () => {
  for (const text of ['unix//run/app.sock', 'unix//a', 'unix//run/my.app/x:1.sock', `unix//${'x'.repeat(106)}`])
    it(`may be ${text.slice(0, 40)}`, () => assert.deepEqual(parseUpstream(text), { ok: true, value: text }));

  const BAD: Record<string, RegExp> = {
    'unix/run/app.sock': /absolute path: unix\/\/run\/app\.sock/,
    'unix:/run/app.sock': /absolute path: unix\/\/run/,
    'UNIX//run/app.sock': /absolute path/,
    'unix+h2c//run/app.sock': /absolute path/,
    'unix/@abstract': /absolute path/,
    'unix//': /must name a file/,
    'unix//run/': /must name a file/,
    'unix//run//app.sock': /must name a file/,
    'unix//run/../etc/app.sock': /must name a file/,
    'unix//run/..': /must name a file/,
    'unix//run/a b': /must not contain spaces/,
    'unix//run/a\0b': /spaces or control characters/,
    [`unix//${'x'.repeat(107)}`]: /at most 107 bytes/,
  };
  for (const [text, expected] of Object.entries(BAD))
    it(`is refused as ${JSON.stringify(text).slice(0, 40)}`, () => {
      const parsed = parseUpstream(text);
      assert.match(parsed.ok ? 'accepted' : parsed.reason, expected);
    });

  it('is not an address to listen on', () => assert.equal(parseAddress('unix//run/app.sock').ok, false));

  it('is connected to by its path, and must present a certificate for its site', () => {
    assert.deepEqual(connectOptions('unix//run/app.sock'), { path: '/run/app.sock' });
    assert.deepEqual(connectOptions('[::1]:80'), { host: '::1', port: 80 });
    assert.deepEqual(
      ['unix//run/app.sock', '10.0.0.1:443', 'app:443'].map((address) => certificateName(address, 'a.test')),
      ['a.test', 'a.test', 'app'],
    );
  });
});
