import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { algorithmsOf, type JwtKey } from '../../../../shared/policy/jwt/keys.ts';
import { parseStrictObject } from './strict-json.ts';

type Key = { readonly kid: string | undefined; readonly algorithms: readonly string[]; readonly key: KeyObject };
type Claims = Readonly<Record<string, unknown>>;
/** Why a token is not accepted. `unknownKey`: other keys might verify it; `forged`: it has cost a signature. */
export type TokenFault = { readonly fault: string; readonly unknownKey?: true; readonly forged?: true };
/** The claims of a token with a valid signature, or why it has none. */
export type VerificationResult = { readonly claims: Claims } | TokenFault;
/** `check` examines the claims before the signature is verified, which costs far more; null if they are valid. */
export type Verifier = (token: string, check: (claims: Claims) => TokenFault | null) => VerificationResult;

/** The maximum number of verifications for one token, if neither the token nor the keys identify its key. */
const MAX_TRIED = 4;
/** Bytes of r and s (RFC 7518 3.4). */
const ES_LENGTH: Readonly<Record<string, number>> = { ES256: 64, ES384: 96, ES512: 132 };
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Verifies the signatures of tokens (RFC 7515, compact serialization). */
export function compileVerifier(specs: readonly JwtKey[]): Verifier {
  const keys = specs.map(({ pem, kid, alg }): Key => {
    const key = createPublicKey(pem);
    return { kid, key, algorithms: algorithmsOf(key, alg) };
  });
  return (token, check) => verifyToken(token, keys, check);
}

function verifyToken(token: string, keys: readonly Key[], check: (claims: Claims) => TokenFault | null): VerificationResult {
  const parts = token.split('.', 4);
  const [head, payload, signature] = parts.map(canonical);
  if (parts.length !== 3 || !head || !payload || !signature) return { fault: 'the token is not three parts in base64url' };
  const header = parseStrictObject(head);
  if (header === null) return { fault: 'the header of the token is not an unambiguous JSON object' };
  const { alg, kid } = header;
  // Extensions that must be understood (RFC 7515 4.1.11). None is. An unencoded payload (RFC 7797) is one of them.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return { fault: 'the token needs an extension that is not supported' };
  if (typeof alg !== 'string' || (Object.hasOwn(header, 'kid') && typeof kid !== 'string')) return { fault: 'the token has no algorithm' };
  const candidates = candidatesFor(keys, alg, kid as string | undefined);
  if (candidates.length === 0) return { fault: 'no key has the algorithm and the kid of the token', unknownKey: true };
  if (candidates.length > MAX_TRIED) return { fault: 'the token does not say which of the keys it is from' };
  const claims = parseStrictObject(payload);
  if (claims === null) return { fault: 'the token is not an unambiguous JSON object' };
  const fault = check(claims);
  if (fault !== null) return fault;
  const signed = Buffer.from(token.slice(0, token.lastIndexOf('.')), 'latin1');
  return candidates.some(({ key }) => isSigned(alg, signed, key, signature))
    ? { claims }
    : { fault: 'the signature is wrong', forged: true };
}

/** The keys decide which algorithms are possible, never the token: that excludes `none` and HMAC with a public key (RFC 8725 3.1). */
function candidatesFor(keys: readonly Key[], alg: string, kid: string | undefined): readonly Key[] {
  const fitting = keys.filter(({ algorithms }) => algorithms.includes(alg));
  if (kid === undefined) return fitting;
  const named = keys.filter((key) => key.kid === kid);
  return fitting.filter((key) => (named.length > 0 ? key.kid === kid : key.kid === undefined));
}

function isSigned(alg: string, signed: Buffer, key: KeyObject, signature: Buffer): boolean {
  const digest = `sha${alg.slice(2)}`;
  switch (alg.slice(0, 2)) {
    case 'RS':
      return verify(digest, signed, { key, padding: constants.RSA_PKCS1_PADDING }, signature);
    case 'PS':
      return verify(
        digest,
        signed,
        { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
        signature,
      );
    case 'ES':
      return signature.length === ES_LENGTH[alg] && verify(digest, signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
    default:
      return verify(null, signed, key, signature);
  }
}

/** The bytes; null if another text stands for the same ones, so that no token has two forms. */
function canonical(text: string): Buffer | null {
  if (!BASE64URL.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : null;
}
