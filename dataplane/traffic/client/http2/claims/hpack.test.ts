import { answered, claims, complete, connectionError, forwarded } from '../../../testing/http2/claims.ts';
import { block, CODE, FLAG, FRAME, type Frames, head, integer } from '../../../testing/http2/frames.ts';

const bytes = (...hex: readonly string[]): Buffer => Buffer.from(hex.join('').replaceAll(' ', ''), 'hex');
const REQUEST = block(head());
/** A request whose header block has these bytes before and after the usual fields. */
const asking =
  (after: Buffer, before: Buffer = Buffer.alloc(0), stream = 1) =>
  (client: Frames): Frames =>
    client.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, Buffer.concat([before, REQUEST, after]));

/** `custom-key: custom-value` without and with the Huffman code (RFC 7541 C.2.1, C.4.3). */
const NAME = bytes('0a', '637573746f6d2d6b6579');
const VALUE = bytes('0c', '637573746f6d2d76616c7565');
const HUFFMAN_NAME = bytes('88', '25a849e95ba97d7f');
const HUFFMAN_VALUE = bytes('89', '25a849e95bb8e8b4bf');
const CUSTOM = 'custom-key: custom-value\r\n';
/** The index of `user-agent` in the static table (RFC 7541 appendix A). */
const USER_AGENT = 58;
const AGENT = 'user-agent: custom-value\r\n';
/** The first entry of the dynamic table. */
const NEWEST = 62;

const KINDS = [
  ['with incremental indexing (6.2.1)', 0x40, 6],
  ['without indexing (6.2.2)', 0x00, 4],
  ['never indexed (6.2.3)', 0x10, 4],
] as const;

/** A literal whose name has this index. */
function indexed(pattern: number, bits: number, index: number, value: Buffer): Buffer {
  const name = integer(index, bits);
  name.writeUInt8(name.readUInt8(0) | pattern, 0);
  return Buffer.concat([name, value]);
}

claims('HPACK decodes (RFC 7541)', [
  ['a field of the static table (6.1)', asking(Buffer.from([0x80 | 16])), forwarded('accept-encoding: gzip, deflate\r\n')],
  ...KINDS.flatMap(
    ([kind, pattern, bits]) =>
      [
        [`a literal ${kind} with a name of the static table`, asking(indexed(pattern, bits, USER_AGENT, VALUE)), forwarded(AGENT)],
        [`one ${kind}, its value in the Huffman code`, asking(indexed(pattern, bits, USER_AGENT, HUFFMAN_VALUE)), forwarded(AGENT)],
        [`one ${kind} with a new name`, asking(Buffer.concat([Buffer.from([pattern]), NAME, VALUE])), forwarded(CUSTOM)],
        [
          `one ${kind} with a new name, both in the Huffman code`,
          asking(Buffer.concat([Buffer.from([pattern]), HUFFMAN_NAME, HUFFMAN_VALUE])),
          forwarded(CUSTOM),
        ],
      ] as const,
  ),
  [
    'a field that an earlier request has added to the dynamic table (2.3.2)',
    async (client) => {
      asking(Buffer.concat([bytes('40'), NAME, VALUE]))(client);
      await complete(client, 1);
      asking(Buffer.from([0x80 | NEWEST]), undefined, 3)(client);
      await complete(client, 3);
    },
    forwarded(CUSTOM),
  ],
  ['a change of the table size (6.3)', asking(Buffer.alloc(0), bytes('3f61')), answered()],
  ['two of them, the smaller first (4.2)', asking(Buffer.alloc(0), bytes('3f61', '3fe11f')), answered()],
  ['a literal after the table has been closed (4.2)', asking(Buffer.concat([bytes('40'), NAME, VALUE]), bytes('20')), forwarded(CUSTOM)],
]);

const error = connectionError(CODE.compression);
claims('HPACK treats as an error of the connection (RFC 7541)', [
  ['an index beyond both tables (2.3.3)', asking(Buffer.from([0x80 | 70])), error],
  ['an index beyond both tables as the name of a literal (2.3.3)', asking(indexed(0x40, 6, 70, VALUE)), error],
  ['an entry that has been evicted (4.3)', asking(Buffer.from([0x80 | NEWEST]), Buffer.concat([bytes('20', '40'), NAME, VALUE])), error],
  ['index 0 (6.1)', asking(bytes('80')), error],
  ['a change of the table size after a field (4.2)', asking(bytes('21')), error],
  ['a table larger than our SETTINGS allow (6.3)', asking(Buffer.alloc(0), bytes('3fe21f')), error],
  ['an integer without an end (5.1)', asking(bytes('7f', 'ff'.repeat(16))), error],
  ['a string that is longer than its block (5.2)', asking(bytes('00', '7f', '61')), error],
  [
    'padding of more than 7 bits in the Huffman code (5.2)',
    asking(Buffer.concat([bytes('00'), NAME, bytes('8a', '25a849e95bb8e8b4bf ff')])),
    error,
  ],
  ['padding that is not all ones (5.2)', asking(Buffer.concat([bytes('00'), NAME, bytes('89', '25a849e95bb8e8b4b8')])), error],
  ['the end-of-string symbol (5.2)', asking(Buffer.concat([bytes('00'), NAME, bytes('84', 'ffffffff')])), error],
]);
