import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crc32c } from './crc32c.ts';
import { MAX_PROXY_HEADER, type ProxiedClient, readProxyHeader } from './proxy-protocol.ts';

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');

/** A version 2 header. `length` overrides the length it declares. */
const binary = (command: number, family: number, body: Buffer, length = body.length): Buffer =>
  Buffer.concat([SIGNATURE, Buffer.from([command, family, length >> 8, length & 0xff]), body]);
const extension = (type: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([type, value.length >> 8, value.length & 0xff]), value]);
const V4 = Buffer.from('cb007109c000020199f401bb', 'hex');
const V6 = Buffer.concat([Buffer.from('20010db8000000000000000000000005', 'hex'), Buffer.alloc(15), Buffer.from([1, 0x99, 0xf4, 1, 0xbb])]);
const MAPPED = Buffer.concat([Buffer.from('00000000000000000000ffffcb007109', 'hex'), V6.subarray(16)]);

/** A header whose last extension is its checksum. */
function summed(command: number, family: number, body: Buffer): Buffer {
  const header = binary(command, family, Buffer.concat([body, extension(3, Buffer.alloc(4))]));
  header.writeUInt32BE(crc32c(header), header.length - 4);
  return header;
}
const spoiled = (header: Buffer): Buffer => {
  const copy = Buffer.from(header);
  copy[17] = (copy[17] as number) ^ 1;
  return copy;
};

const SOUND: readonly (readonly [what: string, header: Buffer | string, client: ProxiedClient | null])[] = [
  ['TCP4', 'PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n', { address: '203.0.113.9', port: 56324 }],
  ['TCP6', 'PROXY TCP6 2001:DB8:0:0::5 2001:db8::1 56324 443\r\n', { address: '2001:db8::5', port: 56324 }],
  ['TCP6 with an IPv4 client', 'PROXY TCP6 ::ffff:203.0.113.9 ::1 1 0\r\n', { address: '203.0.113.9', port: 1 }],
  ['the longest line', `PROXY UNKNOWN ${Array(8).fill('ffff').join(':')} ${Array(8).fill('ffff').join(':')} 65535 65535\r\n`, null],
  ['UNKNOWN', 'PROXY UNKNOWN\r\n', null],
  ['UNKNOWN with arbitrary text', 'PROXY UNKNOWN what ever\r\n', null],
  ['version 2, IPv4', binary(0x21, 0x11, V4), { address: '203.0.113.9', port: 39412 }],
  ['version 2, IPv6', binary(0x21, 0x21, V6), { address: '2001:db8::5', port: 39412 }],
  ['version 2, IPv4 in IPv6', binary(0x21, 0x21, MAPPED), { address: '203.0.113.9', port: 39412 }],
  [
    'version 2, extensions',
    binary(0x21, 0x11, Buffer.concat([V4, extension(4, Buffer.alloc(7)), extension(0xea, Buffer.from('x'))])),
    { address: '203.0.113.9', port: 39412 },
  ],
  ['version 2, checksum', summed(0x21, 0x11, V4), { address: '203.0.113.9', port: 39412 }],
  [
    'version 2, of maximum length',
    binary(0x21, 0x11, Buffer.concat([V4, extension(4, Buffer.alloc(2_048 - 12 - 3))])),
    { address: '203.0.113.9', port: 39412 },
  ],
  ['version 2, Unix socket', binary(0x21, 0x31, Buffer.alloc(216)), null],
  ['version 2, unspecified', binary(0x21, 0x00, Buffer.alloc(0)), null],
  ['version 2, LOCAL', binary(0x20, 0x00, Buffer.alloc(0)), null],
  ['version 2, LOCAL with arbitrary data', binary(0x20, 0x7f, Buffer.from('any thing')), null],
];

const MALFORMED: readonly (readonly [what: string, header: Buffer | string, reason: RegExp])[] = [
  ['HTTP', 'GET / HTTP/1.1\r\n', /does not begin/],
  ['TLS', Buffer.from('1603010200', 'hex'), /does not begin/],
  ['lower case', 'proxy TCP4 203.0.113.9 192.0.2.1 1 2\r\n', /does not begin/],
  ['an address of the other family', 'PROXY TCP4 2001:db8::5 192.0.2.1 1 2\r\n', /bad addresses/],
  ['an address with a zone', 'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n', /bad addresses/],
  ['an address with leading zeros', 'PROXY TCP4 203.0.113.09 192.0.2.1 1 2\r\n', /bad addresses/],
  ['two spaces', 'PROXY TCP4  203.0.113.9 192.0.2.1 1 2\r\n', /bad addresses/],
  ['an extra field', 'PROXY TCP4 203.0.113.9 192.0.2.1 1 2 3\r\n', /bad addresses/],
  ['a port that is too large', 'PROXY TCP4 203.0.113.9 192.0.2.1 65536 2\r\n', /bad ports/],
  ['a port with a leading zero', 'PROXY TCP4 203.0.113.9 192.0.2.1 01 2\r\n', /bad ports/],
  ['a missing port', 'PROXY TCP4 203.0.113.9 192.0.2.1 1\r\n', /bad ports/],
  ['another transport', 'PROXY UDP4 203.0.113.9 192.0.2.1 1 2\r\n', /neither TCP4/],
  ['UNKNOWN as part of a word', 'PROXY UNKNOWNS\r\n', /neither TCP4/],
  ['a bare line feed', 'PROXY TCP4 203.0.113.9 192.0.2.1 1 2\nGET / HTTP/1.1\r\n', /bad ports|bad addresses/],
  ['a line of 108 bytes', `PROXY UNKNOWN ${'x'.repeat(92)}\r\n`, /longer than 107/],
  ['version 3', binary(0x31, 0x11, V4), /version or command/],
  ['command 2', binary(0x22, 0x11, V4), /version or command/],
  ['a datagram', binary(0x21, 0x12, V4), /not for a stream/],
  ['an unknown family', binary(0x21, 0x41, V4), /not for a stream/],
  ['too few bytes for IPv6', binary(0x21, 0x21, V4), /too short/],
  ['more than 2 KB', binary(0x21, 0x11, V4, 2_049), /longer than 2064/],
  ['an extension that is cut off', binary(0x21, 0x11, Buffer.concat([V4, Buffer.from([4, 0, 9, 0])])), /cut off/],
  ['half an extension', binary(0x21, 0x11, Buffer.concat([V4, Buffer.from([4, 0])])), /cut off/],
  ['a wrong checksum', spoiled(summed(0x21, 0x11, V4)), /checksum/],
  ['a checksum of the wrong size', binary(0x21, 0x11, Buffer.concat([V4, extension(3, Buffer.alloc(3))])), /checksum/],
];
const asBytes = (header: Buffer | string): Buffer => (typeof header === 'string' ? Buffer.from(header, 'latin1') : header);

describe('a valid PROXY header', () => {
  for (const [what, text, client] of SOUND) {
    test(`${what}: is complete at its last byte, never before, and later bytes don't matter`, () => {
      const header = asBytes(text);
      const whole = { kind: 'header', length: header.length, client };
      assert.deepEqual(readProxyHeader(header), whole);
      assert.deepEqual(readProxyHeader(Buffer.concat([header, Buffer.from('GET / HTTP/1.1\r\n\r\n')])), whole);
      assert.deepEqual(readProxyHeader(Buffer.concat([header, header])), whole);
      for (let end = 0; end < header.length; end++) assert.equal(readProxyHeader(header.subarray(0, end)).kind, 'partial', `${end} bytes`);
    });
  }
});

describe('a malformed PROXY header', () => {
  for (const [what, text, reason] of MALFORMED) {
    test(`${what}: is refused, and more bytes don't change that`, () => {
      const header = asBytes(text);
      const reading = readProxyHeader(header);
      assert.match(reading.kind === 'malformed' ? reading.reason : reading.kind, reason);
      let refused = false;
      for (let end = 0; end <= header.length; end++) {
        const { kind } = readProxyHeader(header.subarray(0, end));
        assert.ok(kind !== 'header' && (!refused || kind === 'malformed'), `${end} bytes`);
        refused ||= kind === 'malformed';
      }
    });
  }
});

test('any input is decided within 2,064 bytes, and every prefix agrees with the whole', () => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  const samples = [...SOUND, ...MALFORMED].map(([, header]) => asBytes(header));
  for (let round = 0; round < 3_000; round++) {
    const bytes = Buffer.concat([samples[random(samples.length)] as Buffer, Buffer.alloc(random(60), 'x')]);
    for (let change = random(4); change > 0; change--) bytes[random(bytes.length)] = random(256);
    let decided: object | null = null;
    for (let end = 1; end <= bytes.length; end += 1 + random(9)) {
      const reading = readProxyHeader(bytes.subarray(0, end));
      if (decided !== null) assert.equal(reading.kind, (decided as { kind: string }).kind);
      else if (reading.kind !== 'partial') decided = reading;
      if (reading.kind === 'header') assert.ok(reading.length <= end && reading.length <= MAX_PROXY_HEADER);
    }
    const padded = Buffer.concat([bytes, Buffer.alloc(MAX_PROXY_HEADER)]);
    assert.notEqual(readProxyHeader(padded).kind, 'partial');
  }
});
