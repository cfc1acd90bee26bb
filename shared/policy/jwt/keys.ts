import { createPublicKey, type KeyObject } from 'node:crypto';
import { accepted, type Parsed, refused } from '../../values/parsed.ts';

/** A public key, and what it may be used for. */
export type JwtKey = { pem: string; kid?: string | undefined; alg?: string | undefined };

export const MAX_KEYS = 50;
/** Keys without an identifier are tried in turn, and each try costs a signature. */
const MAX_WITHOUT_KID = 4;
/** Characters. */
export const LONGEST_PEM = 4_096;
export const LONGEST_KID = 256;
const LONGEST_FILE = 262_144;
/** Bits: shorter ones must not be used (RFC 7518 3.3), and longer ones make forged tokens expensive to reject. */
const RSA_BITS = [2_048, 8_192] as const;

const PSS = ['PS256', 'PS384', 'PS512'];
const RSA = ['RS256', 'RS384', 'RS512', ...PSS];
const CURVES: Readonly<Record<string, readonly string[]>> = { prime256v1: ['ES256'], secp384r1: ['ES384'], secp521r1: ['ES512'] };
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----[A-Za-z0-9+/=\s]*-----END \1-----/g;
/** The members of a JWK that make up its public key. */
const PUBLIC = ['kty', 'n', 'e', 'crv', 'x', 'y'];

/** The algorithms that a key may be used with: never more than its type allows, regardless of what a token says. Empty for other keys. */
export function algorithmsOf(key: KeyObject, alg?: string): readonly string[] {
  const all = algorithmsByType(key);
  return alg === undefined ? all : all.filter((one) => one === alg);
}

function algorithmsByType({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): readonly string[] {
  const bits = details?.modulusLength ?? 0;
  if (type === 'rsa') return bits >= RSA_BITS[0] && bits <= RSA_BITS[1] ? RSA : [];
  if (type === 'ec') return CURVES[details?.namedCurve ?? ''] ?? [];
  return type === 'ed25519' ? ['EdDSA', 'Ed25519'] : [];
}

const USABLE = `RSA of ${RSA_BITS[0]} to ${RSA_BITS[1]} bits, P-256, P-384, P-521 or Ed25519`;

/** What is wrong with a key of a route; undefined if it can be used. */
export function faultOfKey({ pem, alg }: JwtKey): string | undefined {
  if (!/^-----BEGIN PUBLIC KEY-----\s/.test(pem)) return 'a key is a public key in PEM';
  const key = publicKey(pem);
  if (key === null) return 'the key cannot be read';
  return algorithmsOf(key, alg).length > 0 ? undefined : `the key cannot be used${alg === undefined ? '' : ` with ${alg}`} (${USABLE})`;
}

/** What is wrong with the keys together. */
export function faultOfKeys(keys: readonly JwtKey[]): string | undefined {
  if (keys.filter(({ kid }) => kid === undefined).length > MAX_WITHOUT_KID) return `at most ${MAX_WITHOUT_KID} keys may have no kid`;
  const named = keys.flatMap(({ kid }) => kid ?? []);
  return new Set(named).size < named.length ? 'two keys have the same kid' : undefined;
}

/** Reads the public keys of a JWKS (RFC 7517) or of PEM. */
export function readKeys(text: string): Parsed<JwtKey[]> {
  if (text.length > LONGEST_FILE) return refused(`it has more than ${LONGEST_FILE} characters`);
  const keys = text.trimStart().startsWith('{') ? readSet(text) : readPem(text);
  if (!keys.ok) return keys;
  if (keys.value.length > MAX_KEYS) return refused(`at most ${MAX_KEYS} keys`);
  const fault = keys.value.length === 0 ? `it has no key that can verify tokens (${USABLE})` : faultOfKeys(keys.value);
  return fault === undefined ? keys : refused(fault);
}

function readPem(text: string): Parsed<JwtKey[]> {
  const keys: JwtKey[] = [];
  for (const [pem, type = ''] of text.matchAll(PEM_BLOCK)) {
    if (type.includes('PRIVATE')) return refused('it has a private key, which only the issuer of the tokens should have');
    if (type !== 'PUBLIC KEY' && type !== 'RSA PUBLIC KEY' && type !== 'CERTIFICATE') continue;
    const key = publicKey(pem);
    const spki = key && pemOf(key);
    const fault = spki ? faultOfKey({ pem: spki }) : 'the key cannot be read';
    if (!spki || fault) return refused(`key ${keys.length + 1}: ${fault}`);
    keys.push({ pem: spki });
  }
  return accepted(keys);
}

function readSet(text: string): Parsed<JwtKey[]> {
  const set = parsed(text);
  const list = isRecord(set) && Array.isArray(set.keys) ? (set.keys as unknown[]) : [set];
  const keys: JwtKey[] = [];
  for (const jwk of list) {
    if (!isRecord(jwk) || typeof jwk.kty !== 'string') return refused('it is neither PEM nor a JWKS (an object with "keys")');
    if (jwk.kty === 'oct' || Object.hasOwn(jwk, 'k'))
      return refused('it has a shared secret (kty "oct"), and only public keys are accepted');
    if (Object.hasOwn(jwk, 'd')) return refused('it has a private key, which only the issuer of the tokens should have');
    const key = readJwk(jwk);
    if (key) keys.push(key);
  }
  return accepted(keys);
}

/** null for keys that are for something else, which a set may contain (RFC 7517 5). */
function readJwk({ use, key_ops: operations, kid, alg, ...jwk }: Record<string, unknown>): JwtKey | null {
  if (use !== undefined && use !== 'sig') return null;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return null;
  if ((kid !== undefined && !isText(kid)) || (alg !== undefined && !isText(alg))) return null;
  const key = publicKey({
    key: Object.fromEntries(PUBLIC.flatMap((name) => (isText(jwk[name]) ? [[name, jwk[name]]] : []))),
    format: 'jwk',
  });
  if (key === null) return null;
  const read: JwtKey = { pem: pemOf(key), ...(kid !== undefined && { kid }), ...(alg !== undefined && { alg }) };
  return faultOfKey(read) === undefined ? read : null;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length > 0;
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }) as string;

/** null if it is not a key. */
function publicKey(key: Parameters<typeof createPublicKey>[0]): KeyObject | null {
  try {
    return createPublicKey(key);
  } catch {
    return null;
  }
}

/** undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
