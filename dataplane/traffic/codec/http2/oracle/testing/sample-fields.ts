import type { Field } from '../../../../testing/http2/frames.ts';
import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';
import { STATIC_FIELDS } from '../../hpack/static-table.ts';

/** Names that no rule of HTTP forbids in any message, so that nghttp2 accepts every list of them. */
const FORBIDDEN = new Set(['connection', 'content-length', 'host', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']);
const NAMES = [
  ...STATIC_FIELDS.map(([name]) => name).filter((name) => !name.startsWith(':') && !FORBIDDEN.has(name)),
  'x-a',
  'x-b',
  'x-request-id',
  'x-api-key',
  'traceparent',
  'sec-fetch-mode',
  'sec-ch-ua',
  'content-security-policy',
  "!#$%&'*+-.^_`|~0",
  'z'.repeat(130),
];
const VALUES = [
  '',
  '0',
  'a',
  'gzip, deflate',
  'text/html; charset=utf-8',
  'no-cache',
  '\xe9\xff\x80',
  '"\\<>{}|^~',
  'x'.repeat(126),
  'x'.repeat(127),
  'y'.repeat(254),
  'z'.repeat(3_000),
];
const VISIBLE = 95;
/** The maximum length of all values of a list: Node resets the stream of a list beyond 64 KB. */
const LONG_LIST = 30_000;
const RECENT = 6;

/** The lists of one connection. Many lists and fields are repeated. */
export class SampleLists {
  private readonly recent: Field[][] = [];

  next(random: SampleRandom): Field[] {
    const again = random.once(2) ? this.recent[random.below(RECENT)] : undefined;
    const fields = again ?? sampleFields(random);
    this.recent[random.below(RECENT)] = fields;
    return fields;
  }
}

function sampleFields(random: SampleRandom): Field[] {
  const fields: Field[] = [];
  let bytes = 0;
  for (let count = random.below(random.once(10) ? 60 : 12); count > 0 && bytes < LONG_LIST; count--) {
    const value = sampleValue(random);
    fields.push([random.pick(NAMES), value]);
    bytes += value.length;
  }
  return fields;
}

function sampleValue(random: SampleRandom): string {
  if (!random.once(3)) return random.once(8) ? random.pick(VALUES) : `value ${random.below(40)}`;
  let value = '';
  for (let length = random.below(random.once(5) ? 300 : 30); length > 0; length--) value += String.fromCharCode(32 + random.below(VISIBLE));
  return value.trim();
}
