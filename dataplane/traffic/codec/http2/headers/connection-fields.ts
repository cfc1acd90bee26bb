/** Fields that describe one HTTP/1.1 connection. In HTTP/2 they make a message malformed (RFC 9113 8.2.2). */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

/** One bit for each length that one of these names has, or `te`. It rules out most other names. */
const LENGTHS = [...CONNECTION_FIELDS, 'te'].reduce((bits, name) => bits | (1 << name.length), 0);

/** Whether a name of this length may be one of these, or `te`. */
export const mayDescribeConnection = (length: number): boolean => length < 32 && (LENGTHS & (1 << length)) !== 0;

/** Whether a field makes an HTTP/2 message malformed: `te` may only say `trailers` (RFC 9113 8.2.2). */
export const describesConnection = (name: string, value: string): boolean =>
  CONNECTION_FIELDS.has(name) || (name === 'te' && value.toLowerCase() !== 'trailers');
