import { httpTime } from '../../codec/http-time.ts';
import { foldedName } from '../../codec/http1/field-names.ts';
import { withoutOws } from '../../codec/http1/protocols.ts';
import { type Directives, LONGEST, readDirectives, readTargeted } from './directives.ts';

/** The name of the field that addresses this cache alone (RFC 9213 2.2). */
const OWN_TARGET = 'sluice-cache-control';
const CDN_TARGET = 'cdn-cache-control';
/** A response that names more fields in Vary is not stored, as with `*`: each request for it would take long to compare. */
const MAX_VARY = 50;
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
  const distinct = [...new Set(names.filter((name) => name !== ''))];
  return distinct.length > MAX_VARY ? ['*'] : distinct.sort();
};

const tagsIn = (value: string): string[] =>
  [...new Set(value.split(/[,\s]+/).filter((tag) => tag !== '' && tag.length <= MAX_TAG))].slice(0, MAX_TAGS);

const timeOrNull = (text: string | null): number | null => {
  const time = text === null ? Number.NaN : httpTime(text);
  return Number.isNaN(time) ? null : time;
};

/** Requests with equal variants get the same response. */
export function variantOf(fields: string, vary: readonly string[]): string {
  return vary.map((name) => variantBy(fields, name)).join('\n');
}

/** A text that is to be remembered: a part of a string keeps all of it in memory, such as the whole head of a request. */
export const ownCopy = (text: string): string => Buffer.from(text).toString();

/** Upstreams that turn names into variables take `X_Variant` for `X-Variant`, so lines with such names count, too, as they are. */
function variantBy(fields: string, name: string): string {
  const values: string[] = [];
  let others = '';
  const folded = foldedName(name);
  for (const line of fields.split('\r\n')) {
    if (line.indexOf(':') !== name.length) continue;
    const sent = line.slice(0, name.length).toLowerCase();
    if (sent === name) values.push(withoutOws(line.slice(name.length + 1)));
    else if (foldedName(sent) === folded) others += `\r${line}`;
  }
  return `${values.length === 0 ? '-' : `=${normalized(name, values)}`}${others}`;
}

/** A longer list is taken as it is (characters): many clients may wait for one response, and each of them is compared at once. */
const LONGEST_NORMALIZED = 1_024;

/** Fields whose value is a list of alternatives in any letter case, except for the values of parameters. */
const ALTERNATIVES: ReadonlySet<string> = new Set(['accept', 'accept-charset', 'accept-encoding', 'accept-language']);

/**
 * What alternatives a client accepts depends neither on white space nor on how they are split into lines. Only among codings does no server
 * prefer the first of several that are equally welcome. Nothing is known about the values of other fields, which may be no lists: they are
 * taken as they are, so that what a server reads in one is never stored for another.
 */
function normalized(name: string, values: readonly string[]): string {
  const sent = values.join('\r');
  if (!ALTERNATIVES.has(name) || sent.length > LONGEST_NORMALIZED || sent.includes('"')) return sent;
  const parts = sent
    .split(/[,\r]/)
    .map((part) => part.split(';').map(withoutOws).map(inLowerCase).join(';'))
    .filter((part) => part !== '');
  return (name !== 'accept-encoding' || parts.some((part) => part.includes(';')) ? parts : parts.sort()).join(',');
}

/** Without the value of a parameter, whose letter case may matter (RFC 9110 5.6.6). */
function inLowerCase(text: string): string {
  const equals = text.indexOf('=');
  return equals < 0 ? text.toLowerCase() : text.slice(0, equals).toLowerCase() + text.slice(equals);
}
