import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isBotAddress, systemDns } from './bot-names.ts';
import { groupsOf, NameServer, type Records } from './testing/name-server.ts';

const GOOGLE = '1.66.249.66.in-addr.arpa';
const [address, bot] = ['66.249.66.1', 'googlebot'] as const;

test('an address is verified by a name in the domain that has the address', async () => {
  const name = 'crawl-66-249-66-1.googlebot.com';
  using server = await NameServer.start({ [`PTR ${GOOGLE}`]: ['other.example', name], [`A ${name}`]: ['192.0.2.9', address] });
  assert.equal(await isBotAddress({ bot, address }, systemDns([server.address])), true);
  assert.deepEqual(server.asked, [`PTR ${GOOGLE}`, `A ${name}`], 'names elsewhere are not resolved');
  assert.equal(await isBotAddress({ bot: 'bingbot', address }, systemDns([server.address])), false, 'another search engine');
  const six = '2001:4860:4801:10::1';
  const reversed = [...groupsOf(six).toString('hex')].reverse().join('.');
  using modern = await NameServer.start({
    [`PTR ${reversed}.ip6.arpa`]: ['GEO.Googlebot.COM'],
    'AAAA geo.googlebot.com': ['2001:4860:4801:10:0:0:0:1'],
  });
  assert.equal(await isBotAddress({ bot, address: six }, systemDns([modern.address])), true);
});

for (const [what, records, found] of [
  ['a name that does not have the address', { [`PTR ${GOOGLE}`]: ['a.googlebot.com'], 'A a.googlebot.com': ['192.0.2.1'] }, false],
  ['a name that does not exist', { [`PTR ${GOOGLE}`]: ['a.googlebot.com'] }, false],
  ['a name that only looks alike', { [`PTR ${GOOGLE}`]: ['evilgooglebot.com', 'googlebot.com.evil.example', 'googlebot.com'] }, false],
  ['no name', {}, false],
  ['a server that fails', { [`PTR ${GOOGLE}`]: 'failure' }, null],
  ['a server that is silent', { [`PTR ${GOOGLE}`]: 'silence' }, null],
] as const satisfies readonly (readonly [string, Records, boolean | null])[])
  test(`an address with ${what} is ${found === null ? 'not decided' : 'not verified'}`, async () => {
    using server = await NameServer.start(records);
    assert.equal(await isBotAddress({ bot, address }, systemDns([server.address])), found);
    assert.ok(server.asked.length <= 3, server.asked.join());
  });

test('an address with many names costs few questions', async () => {
  const names = Array.from({ length: 20 }, (_, nth) => `a${nth}.googlebot.com`);
  using server = await NameServer.start({
    [`PTR ${GOOGLE}`]: names,
    ...Object.fromEntries(names.map((name) => [`A ${name}`, ['192.0.2.1']])),
  });
  assert.equal(await isBotAddress({ bot, address }, systemDns([server.address])), false);
  assert.ok(server.asked.length <= 3, server.asked.join());
});
