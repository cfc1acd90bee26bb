import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { test } from 'node:test';
import { isBotAddress, systemDns } from './bot-names.ts';

const TYPES = { 1: 'A', 12: 'PTR', 28: 'AAAA' } as const;
type Records = Readonly<Record<string, readonly string[] | 'silence' | 'failure'>>;

const nameBytes = (name: string): Buffer =>
  Buffer.concat([...name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)])), Buffer.of(0)]);
const groupsOf = (address: string): Buffer => {
  const [left = '', right = ''] = address.split('::');
  const [head, tail] = [left.split(':').filter(Boolean), right.split(':').filter(Boolean)];
  const groups = [...head, ...new Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
};

/** A name server with these records, such as `A name` and `PTR address.in-addr.arpa`. */
async function nameServer(records: Records) {
  const asked: string[] = [];
  const server = createSocket('udp4').on('message', (question, from) => {
    let at = 12;
    const labels: string[] = [];
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = TYPES[question.readUInt16BE(at + 1) as keyof typeof TYPES];
    const key = `${type} ${labels.join('.')}`;
    asked.push(key);
    const found = records[key];
    if (found === 'silence') return;
    const list = found === 'failure' ? [] : (found ?? []);
    const head = Buffer.from(question.subarray(0, at + 5));
    head.writeUInt16BE(found === undefined ? 0x8183 : found === 'failure' ? 0x8182 : 0x8180, 2);
    head.writeUInt16BE(list.length, 6);
    head.writeUInt32BE(0, 8);
    const answers = list.map((value) => {
      const data = type === 'PTR' ? nameBytes(value) : type === 'A' ? Buffer.from(value.split('.').map(Number)) : groupsOf(value);
      const fixed = Buffer.alloc(12);
      fixed.writeUInt16BE(0xc00c, 0);
      fixed.writeUInt16BE(question.readUInt16BE(at + 1), 2);
      fixed.writeUInt16BE(1, 4);
      fixed.writeUInt32BE(60, 6);
      fixed.writeUInt16BE(data.length, 10);
      return Buffer.concat([fixed, data]);
    });
    server.send(Buffer.concat([head, ...answers]), from.port, from.address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  return { asked, dns: systemDns([`127.0.0.1:${server.address().port}`]), [Symbol.dispose]: () => server.close() };
}

const GOOGLE = '1.66.249.66.in-addr.arpa';
const [address, bot] = ['66.249.66.1', 'googlebot'] as const;

test('an address is verified by a name in the domain that has the address', async () => {
  const name = 'crawl-66-249-66-1.googlebot.com';
  using server = await nameServer({ [`PTR ${GOOGLE}`]: ['other.example', name], [`A ${name}`]: ['192.0.2.9', address] });
  assert.equal(await isBotAddress({ bot, address }, server.dns), true);
  assert.deepEqual(server.asked, [`PTR ${GOOGLE}`, `A ${name}`], 'names elsewhere are not resolved');
  assert.equal(await isBotAddress({ bot: 'bingbot', address }, server.dns), false, 'another search engine');
  const six = '2001:4860:4801:10::1';
  const reversed = [...groupsOf(six).toString('hex')].reverse().join('.');
  using modern = await nameServer({
    [`PTR ${reversed}.ip6.arpa`]: ['GEO.Googlebot.COM'],
    'AAAA geo.googlebot.com': ['2001:4860:4801:10:0:0:0:1'],
  });
  assert.equal(await isBotAddress({ bot, address: six }, modern.dns), true);
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
    using server = await nameServer(records);
    assert.equal(await isBotAddress({ bot, address }, server.dns), found);
    assert.ok(server.asked.length <= 3, server.asked.join());
  });

test('an address with many names costs few questions', async () => {
  const names = Array.from({ length: 20 }, (_, nth) => `a${nth}.googlebot.com`);
  using server = await nameServer({ [`PTR ${GOOGLE}`]: names, ...Object.fromEntries(names.map((name) => [`A ${name}`, ['192.0.2.1']])) });
  assert.equal(await isBotAddress({ bot, address }, server.dns), false);
  assert.ok(server.asked.length <= 3, server.asked.join());
});
