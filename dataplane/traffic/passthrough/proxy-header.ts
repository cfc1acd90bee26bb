import { isIPv6 } from 'node:net';

/** One end of a connection. */
export type End = { readonly address: string; readonly port: number };

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n');
/** Version 2, PROXY. */
const PROXY = 0x21;
const TCP4 = 0x11;
const TCP6 = 0x21;
const IPV4_IN_IPV6 = '::ffff:';

/**
 * The header that tells a target whose connection it gets, as specified in HAProxy's `proxy-protocol.txt` (sections 2.1 and 2.2). Where
 * only one of the addresses is IPv4, it is written as IPv6.
 */
export function proxyHeader(version: 'v1' | 'v2', from: End, to: End): Buffer {
  const isSix = isIPv6(from.address) || isIPv6(to.address);
  const [source, destination] = [from, to].map(({ address }) => (isSix && !isIPv6(address) ? `${IPV4_IN_IPV6}${address}` : address)) as [
    string,
    string,
  ];
  if (version === 'v1') return Buffer.from(`PROXY ${isSix ? 'TCP6' : 'TCP4'} ${source} ${destination} ${from.port} ${to.port}\r\n`);
  const bytesOf = isSix ? bytesOfSix : bytesOfFour;
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(from.port, 0);
  ports.writeUInt16BE(to.port, 2);
  const rest = Buffer.concat([bytesOf(source), bytesOf(destination), ports]);
  const head = Buffer.from([PROXY, isSix ? TCP6 : TCP4, 0, rest.length]);
  return Buffer.concat([SIGNATURE, head, rest]);
}

const bytesOfFour = (address: string): Buffer => Buffer.from(address.split('.').map(Number));

/** RFC 4291 2.2; a zone is not part of an address. */
function bytesOfSix(written: string): Buffer {
  const [text = ''] = written.split('%');
  const four = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const plain =
    four === null
      ? text
      : `${four[1]}${bytesOfFour(four[2] as string)
          .toString('hex')
          .replace(/^(....)/, '$1:')}`;
  const [before = '', after] = plain.split('::');
  const left = groupsOf(before);
  const right = after === undefined ? [] : groupsOf(after);
  const middle = Array.from({ length: 8 - left.length - right.length }, () => 0);
  const bytes = Buffer.alloc(16);
  for (const [nth, group] of [...left, ...middle, ...right].entries()) bytes.writeUInt16BE(group, 2 * nth);
  return bytes;
}

const groupsOf = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
