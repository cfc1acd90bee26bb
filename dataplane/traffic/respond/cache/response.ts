import { httpTime } from '../../codec/http-time.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import { withoutOws } from '../../codec/http1/protocols.ts';
import { type Directives, LONGEST, readDirectives, readTargeted } from './directives.ts';

/** The name of the field that addresses this cache alone (RFC 9213 2.2). */
export const OWN_TARGET = 'sluice-cache-control';
const CDN_TARGET = 'cdn-cache-control';
const MAX_TAGS = 100;
const MAX_TAG = 256;

/** The parts of a response that a cache needs. */
export type CacheResponse = {
  readonly status: number;
  readonly control: Directives;
  /** Whether a field addressed to shared caches replaces Cache-Control and Expires; `own`: addressed to this one. */
  readonly targeted: boolean;
  readonly own: boolean;
  /** Milliseconds since 1970; NaN if invalid, null if absent. */
  readonly expires: number | null;
  readonly date: number | null;
  readonly lastModified: number | null;
  readonly lastModifiedText: string | null;
  readonly etag: string | null;
  /** Seconds. */
  readonly age: number;
  /** Lower case, each once. */
  readonly vary: readonly string[];
  readonly setsCookie: boolean;
  readonly tags: readonly string[];
};

const READ = new Set([
  ...['cache-control', 'pragma', 'expires', 'date', 'last-modified', 'etag', 'age', 'vary', 'set-cookie', 'cache-tag'],
  ...['content-encoding', OWN_TARGET, CDN_TARGET],
]);

export function readResponse(status: number, fields: string): CacheResponse {
  const found = new Map<string, string[]>();
  for (let from = 0; from < fields.length; ) {
    const end = fields.indexOf('\r\n', from);
    const colon = fields.indexOf(':', from);
    const name = fields.slice(from, colon).toLowerCase();
    if (READ.has(name)) {
      const values = found.get(name);
      const value = fields.slice(colon + 2, end).trim();
      if (values === undefined) found.set(name, [value]);
      else values.push(value);
    }
    from = end + 2;
  }
  const list = (name: string): string => found.get(name)?.join(', ') ?? '';
  const first = (name: string): string | null => found.get(name)?.[0] ?? null;
  const own = readTargeted(list(OWN_TARGET));
  const targeted = own ?? readTargeted(list(CDN_TARGET));
  const plain = list('cache-control');
  const control = targeted ?? (plain === '' && /\bno-cache\b/i.test(list('pragma')) ? readDirectives('no-cache') : readDirectives(plain));
  const vary = namesIn(list('vary'));
  // A coded response without Vary would otherwise be sent to clients that can't decode it.
  const implied = found.has('content-encoding') && !vary.includes('accept-encoding') ? [...vary, 'accept-encoding'] : vary;
  return {
    status,
    control,
    targeted: targeted !== null,
    own: own !== null,
    expires: found.has('expires') ? (found.get('expires')?.length === 1 ? httpTime(first('expires') ?? '') : Number.NaN) : null,
    date: timeOrNull(first('date')),
    lastModified: timeOrNull(first('last-modified')),
    lastModifiedText: first('last-modified'),
    etag: first('etag'),
    age: ageIn(first('age')),
    vary: implied,
    setsCookie: found.has('set-cookie'),
    tags: tagsIn(list('cache-tag')),
  };
}

/** RFC 9111 5.1: the first of several values counts; an invalid one is ignored. */
function ageIn(text: string | null): number {
  const first = text?.split(',', 1)[0]?.trim() ?? '';
  return /^\d+$/.test(first) ? Math.min(LONGEST, Number(first)) : 0;
}

const namesIn = (value: string): string[] => {
  const names = value.split(',').map((name) => name.trim().toLowerCase());
  return [...new Set(names.filter((name) => name !== ''))].sort();
};

const tagsIn = (value: string): string[] =>
  [...new Set(value.split(/[,\s]+/).filter((tag) => tag !== '' && tag.length <= MAX_TAG))].slice(0, MAX_TAGS);

const timeOrNull = (text: string | null): number | null => {
  const time = text === null ? Number.NaN : httpTime(text);
  return Number.isNaN(time) ? null : time;
};

/** Requests with equal variants get the same response. */
export function variantOf(fields: string, vary: readonly string[]): string {
  return vary.map((name) => normalized(name, fieldsIn(fields, name))).join('\n');
}

const DELIMITER = /([;=])/;

/** Lists differ neither by white space nor by how they are split into lines; codings and languages not by case. */
function normalized(name: string, values: readonly string[]): string {
  if (values.length === 0) return '-';
  const parts = values
    .join(',')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (name !== 'accept-encoding' && name !== 'accept-language' && name !== 'accept' && name !== 'accept-charset')
    return `=${parts.join(',')}`;
  // Not by one expression for white space and delimiter: that takes quadratic time for a long run of spaces, which any client can send.
  const plain = parts.map((part) => part.toLowerCase().split(DELIMITER).map(withoutOws).join(''));
  return `=${(plain.some((part) => part.includes(';')) ? plain : plain.sort()).join(',')}`;
}
