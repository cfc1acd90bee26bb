/**
 * The field names that the proxy acts on, found by a hash that the scanner computes while it validates
 * the name: one look-up a field, and no string is made for the rest.
 */
export const FIELD = {
  other: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 3,
  connection: 4,
  /** Hop-by-hop without meaning to us: dropped (RFC 9110 7.6.1). */
  hopByHop: 5,
  upgrade: 6,
  expect: 7,
  forwardedFor: 8,
  forwardedProto: 9,
  forwardedHost: 10,
  requestId: 11,
  /** Says who is asking, but is not one that we pass on: dropped (Forwarded is for the policy that knows the client). */
  claim: 12,
  referer: 13,
  te: 14,
  date: 15,
  strictTransportSecurity: 16,
  contentTypeOptions: 17,
  frameOptions: 18,
  contentType: 19,
  keepAlive: 20,
  /** Never forwarded in a request: a CGI behind us would read it as its proxy setting. */
  proxy: 21,
} as const;

export type FieldKind = (typeof FIELD)[keyof typeof FIELD];

const NAMES: Readonly<Record<string, FieldKind>> = {
  host: FIELD.host,
  'content-length': FIELD.contentLength,
  'transfer-encoding': FIELD.transferEncoding,
  connection: FIELD.connection,
  'proxy-connection': FIELD.hopByHop,
  'proxy-authenticate': FIELD.hopByHop,
  'proxy-authorization': FIELD.hopByHop,
  'keep-alive': FIELD.keepAlive,
  te: FIELD.te,
  upgrade: FIELD.upgrade,
  'http2-settings': FIELD.hopByHop,
  expect: FIELD.expect,
  'x-forwarded-for': FIELD.forwardedFor,
  'x-forwarded-proto': FIELD.forwardedProto,
  'x-forwarded-host': FIELD.forwardedHost,
  'x-forwarded-port': FIELD.claim,
  'x-forwarded-server': FIELD.claim,
  'x-forwarded-ssl': FIELD.claim,
  'x-real-ip': FIELD.claim,
  'x-request-id': FIELD.requestId,
  forwarded: FIELD.claim,
  referer: FIELD.referer,
  date: FIELD.date,
  'strict-transport-security': FIELD.strictTransportSecurity,
  'x-content-type-options': FIELD.contentTypeOptions,
  'x-frame-options': FIELD.frameOptions,
  'content-type': FIELD.contentType,
  proxy: FIELD.proxy,
};

export const HASH_SEED = 0;
/** One step of the name hash over a byte folded to lower case. */
export const hashStep = (hash: number, byte: number): number => (Math.imul(hash, 31) + byte) | 0;

/** The hash of a whole name, any case. */
export function hashName(name: string): number {
  let hash = HASH_SEED;
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at);
    hash = hashStep(hash, code >= 0x41 && code <= 0x5a ? code | 0x20 : code);
  }
  return hash;
}

type Known = { readonly name: string; readonly kind: FieldKind };
const byHash = new Map<number, Known>();
for (const [name, kind] of Object.entries(NAMES)) {
  const hash = hashName(name);
  if (byHash.has(hash)) throw new Error(`two known field names share the hash of ${name}`);
  byHash.set(hash, { name, kind });
}

/** What `raw.slice(from, to)` names, given its hash. The hash only proposes; the letters decide. */
export function kindOf(hash: number, raw: string, from: number, to: number): FieldKind {
  const known = byHash.get(hash);
  if (known === undefined || known.name.length !== to - from) return FIELD.other;
  return raw.slice(from, to).toLowerCase() === known.name ? known.kind : FIELD.other;
}

/**
 * Names spelled with underscores that a CGI-style upstream would read as one of ours
 * (`X_Forwarded_For`, `Content_Length`): the kind that the hyphenated name has, if it matters.
 */
export function underscoredKind(name: string): FieldKind {
  const known = NAMES[name.toLowerCase().replaceAll('_', '-')];
  switch (known) {
    case FIELD.forwardedFor:
    case FIELD.forwardedProto:
    case FIELD.forwardedHost:
    case FIELD.requestId:
    case FIELD.claim:
    case FIELD.contentLength:
    case FIELD.transferEncoding:
    case FIELD.proxy:
      return known;
    default:
      return FIELD.other;
  }
}
