import { STATIC_FIELDS, STATIC_NAMES } from './static-table.ts';

/** How a field that is not in a table is sent. */
export const INDEXING = {
  /** It is inserted into the dynamic table at once. */
  first: 0,
  /** It is inserted when the same line occurs again. */
  repeated: 1,
  /** It is sent as a literal: it would only evict what repeats. */
  none: 2,
  /** It is sent as a literal that no hop after us may index either (RFC 7541 6.2.3): it is secret. */
  never: 3,
} as const;

export type Indexing = (typeof INDEXING)[keyof typeof INDEXING];

/** How the fields of a name are sent. */
export type IndexingRule = {
  /** The name in lower case. Empty in the rules for names that are not listed. */
  readonly text: string;
  readonly indexing: Indexing;
  /** Whether it is left out where field lines of HTTP/1.1 are sent. */
  readonly omitted: boolean;
  /** The index of the name in the static table, or 0. */
  readonly name: number;
  /** The indices of the values that the static table has, or null. */
  readonly values: ReadonlyMap<string, number> | null;
};

const NAMES: Readonly<Record<keyof typeof INDEXING, readonly string[]>> = {
  // One value for a whole site or for all files of a type, or in the case of Date for all responses of a second.
  first: [
    ':authority',
    ':method',
    ':scheme',
    ':status',
    'accept-ranges',
    'access-control-allow-credentials',
    'access-control-allow-headers',
    'access-control-allow-methods',
    'access-control-allow-origin',
    'access-control-expose-headers',
    'access-control-max-age',
    'alt-svc',
    'cache-control',
    'content-encoding',
    'content-language',
    'content-security-policy',
    'content-type',
    'cross-origin-embedder-policy',
    'cross-origin-opener-policy',
    'cross-origin-resource-policy',
    'date',
    'permissions-policy',
    'referrer-policy',
    'server',
    'strict-transport-security',
    'vary',
    'via',
    'x-content-type-options',
    'x-frame-options',
    'x-powered-by',
    'x-xss-protection',
  ],
  repeated: [],
  // A different value for each request or resource.
  none: [
    ':path',
    'age',
    'content-disposition',
    'content-location',
    'content-range',
    'etag',
    'expires',
    'if-match',
    'if-modified-since',
    'if-none-match',
    'if-range',
    'if-unmodified-since',
    'last-modified',
    'location',
    'range',
    'server-timing',
    'traceparent',
    'tracestate',
    'x-request-id',
  ],
  // An attacker who can add fields to a connection and see its lengths could guess a secret that is in the table (RFC 7541 7.1).
  never: ['authorization', 'cookie', 'proxy-authorization', 'set-cookie'],
};
/** No HTTP/2 message may have these (RFC 9113 8.2.2), and Content-Length is set with the framing. */
const OMITTED = new Set([
  'connection',
  'content-length',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);
/** Other names that usually mean a secret: API keys, tokens, sessions. A wrong guess costs a few bytes. */
const SECRET = /auth|credential|csrf|xsrf|jwt|key|passw|secret|session|signature|token/;

function ruleFor(name: string, indexing: Indexing): IndexingRule {
  const values = STATIC_FIELDS.flatMap(([one, value], at): [string, number][] => (one === name && value !== '' ? [[value, at + 1]] : []));
  return {
    text: name,
    indexing,
    omitted: OMITTED.has(name),
    name: STATIC_NAMES.get(name) ?? 0,
    values: values.length === 0 ? null : new Map(values),
  };
}

const LISTED = (Object.keys(NAMES) as (keyof typeof INDEXING)[]).flatMap((indexing) =>
  NAMES[indexing].map((name): [string, IndexingRule] => [name, ruleFor(name, INDEXING[indexing])]),
);
const REPEATED = ruleFor('', INDEXING.repeated);
const NEVER = ruleFor('', INDEXING.never);
const RULES: ReadonlyMap<string, IndexingRule> = new Map([
  ...[...STATIC_NAMES.keys()].map((name): [string, IndexingRule] => [name, ruleFor(name, INDEXING.repeated)]),
  ...[...OMITTED].map((name): [string, IndexingRule] => [name, ruleFor(name, INDEXING.none)]),
  ...LISTED,
]);

/** The rules by name, including the spelling that is usual in HTTP/1.1. */
const SPELLED: ReadonlyMap<string, IndexingRule> = new Map(
  [...RULES].flatMap(([name, rule]): [string, IndexingRule][] => [
    [name, rule],
    [name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()), rule],
    ...(name === 'etag' ? [['ETag', rule] satisfies [string, IndexingRule]] : []),
  ]),
);

/** How to send the fields of a name, which is in lower case. */
export const ruleOf = (name: string): IndexingRule => RULES.get(name) ?? (SECRET.test(name) ? NEVER : REPEATED);

/** The same for a name in any spelling. */
export const ruleOfSpelled = (name: string): IndexingRule => SPELLED.get(name) ?? ruleOf(name.toLowerCase());
