import { HOPS_FIELD } from '../../../../shared/name.ts';

/**
 * The field names that the proxy acts on. They are found by a hash that the scanner computes while it validates the name, so each field
 * costs one lookup and no string is created for other names.
 */
export const FIELD = {
  other: 0,
  host: 1,
  contentLength: 2,
  transferEncoding: 3,
  connection: 4,
  /** Hop-by-hop and not used by us: dropped (RFC 9110 7.6.1). */
  hopByHop: 5,
  upgrade: 6,
  expect: 7,
  forwardedFor: 8,
  forwardedProto: 9,
  forwardedHost: 10,
  requestId: 11,
  /** Identifies the client, its target or its protocol. Dropped, because no sender is trusted with it. */
  claim: 12,
  referer: 13,
  te: 14,
  date: 15,
  strictTransportSecurity: 16,
  contentTypeOptions: 17,
  frameOptions: 18,
  contentType: 19,
  keepAlive: 20,
  /** Never forwarded in a request, because a CGI program would read it as its proxy setting. */
  proxy: 21,
  /** States what a proxy in front of us knows about its client. Dropped unless a trusted proxy sends it. */
  vouched: 22,
  /** How often proxies like this one have forwarded the request. */
  hops: 23,
  userAgent: 24,
  fetchDestination: 25,
  privacyControl: 26,
  /** Says whether a browser loads something ahead of need. */
  purpose: 27,
  /** W3C Trace Context: the trace that a request belongs to, and what tracing systems have added to it. */
  traceParent: 28,
  traceState: 29,
  authorization: 30,
} as const;

export type FieldKind = (typeof FIELD)[keyof typeof FIELD];

/** Every `X-Forwarded-*` field describes what a proxy did or saw. */
const FORWARDED = 'x-forwarded-';

const NAMES: ReadonlyMap<string, FieldKind> = new Map<string, FieldKind>([
  ['host', FIELD.host],
  ['content-length', FIELD.contentLength],
  ['transfer-encoding', FIELD.transferEncoding],
  ['connection', FIELD.connection],
  ['proxy-connection', FIELD.hopByHop],
  ['proxy-authenticate', FIELD.hopByHop],
  ['proxy-authorization', FIELD.hopByHop],
  ['keep-alive', FIELD.keepAlive],
  ['te', FIELD.te],
  ['upgrade', FIELD.upgrade],
  ['http2-settings', FIELD.hopByHop],
  ['expect', FIELD.expect],
  ['x-forwarded-for', FIELD.forwardedFor],
  ['x-forwarded-proto', FIELD.forwardedProto],
  ['x-forwarded-host', FIELD.forwardedHost],
  ['x-request-id', FIELD.requestId],
  ['referer', FIELD.referer],
  ['user-agent', FIELD.userAgent],
  ['sec-fetch-dest', FIELD.fetchDestination],
  ['sec-gpc', FIELD.privacyControl],
  // The last three are what browsers sent before there was a standard.
  ['sec-purpose', FIELD.purpose],
  ['purpose', FIELD.purpose],
  ['x-purpose', FIELD.purpose],
  ['x-moz', FIELD.purpose],
  ['traceparent', FIELD.traceParent],
  ['tracestate', FIELD.traceState],
  ['authorization', FIELD.authorization],
  ['date', FIELD.date],
  ['strict-transport-security', FIELD.strictTransportSecurity],
  ['x-content-type-options', FIELD.contentTypeOptions],
  ['x-frame-options', FIELD.frameOptions],
  ['content-type', FIELD.contentType],
  ['proxy', FIELD.proxy],
  [HOPS_FIELD.toLowerCase(), FIELD.hops],
  // The client's identity: either we set it, or many proxies pass on what a client sends (RFC 7239 8.1).
  ['forwarded', FIELD.claim],
  ['x-real-ip', FIELD.claim],
  // The scheme and the name of a proxy, in fields that could contradict X-Forwarded-Proto.
  ['x-forwarded-by', FIELD.claim],
  ['x-forwarded-protocol', FIELD.claim],
  ['x-forwarded-scheme', FIELD.claim],
  ['x-forwarded-server', FIELD.claim],
  ['x-forwarded-ssl', FIELD.claim],
  ['front-end-https', FIELD.claim],
  ['x-scheme', FIELD.claim],
  ['x-url-scheme', FIELD.claim],
  // A target or host other than the one that was routed. Some frameworks route by these fields.
  ['x-http-host-override', FIELD.claim],
  ['x-original-host', FIELD.claim],
  ['x-original-uri', FIELD.claim],
  ['x-original-url', FIELD.claim],
  ['x-rewrite-url', FIELD.claim],
  // RFC 9440 4: only the proxy that terminates TLS can know which certificate the client presented.
  ['client-cert', FIELD.vouched],
  ['client-cert-chain', FIELD.vouched],
  ['cf-connecting-ip', FIELD.vouched],
  ['cf-connecting-ipv6', FIELD.vouched],
  ['client-ip', FIELD.vouched],
  ['fastly-client-ip', FIELD.vouched],
  ['true-client-ip', FIELD.vouched],
  ['x-client-ip', FIELD.vouched],
  ['x-cluster-client-ip', FIELD.vouched],
  ['x-original-forwarded-for', FIELD.vouched],
]);

export const HASH_SEED = 0;
/** One step of the name hash. The bit folds capitals to small letters and doesn't change digits and hyphens. */
export const hashStep = (hash: number, byte: number): number => (Math.imul(hash, 31) + (byte | 0x20)) | 0;

/** The hash of a whole name in any letter case. */
export function hashName(name: string): number {
  let hash = HASH_SEED;
  for (let at = 0; at < name.length; at++) hash = hashStep(hash, name.charCodeAt(at));
  return hash;
}

type KnownField = { readonly name: string; readonly kind: FieldKind };
const byHash = new Map<number, KnownField>();
for (const [name, kind] of NAMES) {
  const hash = hashName(name);
  if (byHash.has(hash)) throw new Error(`two known field names share the hash of ${name}`);
  byHash.set(hash, { name, kind });
}

/**
 * What the token `buffer[from, to)` names, given its hash. The hash only selects a candidate; the letters are compared, in place, because
 * every message has several of these fields. Of the characters of a token, the bit folds nothing but capitals to letters of a known name.
 */
export function kindOf(hash: number, buffer: Uint8Array, from: number, to: number): FieldKind {
  const known = byHash.get(hash);
  if (known === undefined) return FIELD.other;
  const { name } = known;
  if (name.length !== to - from) return FIELD.other;
  for (let at = 0; at < name.length; at++) if (((buffer[from + at] as number) | 0x20) !== name.charCodeAt(at)) return FIELD.other;
  return known.kind;
}

/**
 * The canonical form of a name and of all names that upstreams may confuse with it. CGI and its successors turn a name into a variable in
 * which every character except letters and digits is `_`, so they read `X.Forwarded~For` and `Content_Length` as the names with hyphens.
 */
export const foldedName = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-');

/** The kind of a request field whose name `kindOf` does not know. */
export function unlistedKind(name: string): FieldKind {
  const folded = foldedName(name);
  const known = NAMES.get(folded) ?? (folded.startsWith(FORWARDED) ? FIELD.vouched : FIELD.other);
  switch (known) {
    case FIELD.forwardedFor:
    case FIELD.forwardedProto:
    case FIELD.forwardedHost:
    case FIELD.requestId:
    case FIELD.claim:
    case FIELD.vouched:
    case FIELD.contentLength:
    case FIELD.transferEncoding:
    case FIELD.proxy:
      return known;
    default:
      return FIELD.other;
  }
}

/** Whether a field is not forwarded. `claimed`: it is part of a request or of trailers, which may make false claims about the client. */
export function isDropped(kind: FieldKind, claimed: boolean): boolean {
  switch (kind) {
    case FIELD.contentLength:
    case FIELD.transferEncoding:
    case FIELD.connection:
    case FIELD.keepAlive:
    case FIELD.upgrade:
    case FIELD.te:
    case FIELD.hopByHop:
      return true;
    case FIELD.forwardedFor:
    case FIELD.forwardedProto:
    case FIELD.forwardedHost:
    case FIELD.requestId:
    case FIELD.claim:
    case FIELD.vouched:
    case FIELD.proxy:
    case FIELD.hops:
      return claimed;
    default:
      return false;
  }
}
