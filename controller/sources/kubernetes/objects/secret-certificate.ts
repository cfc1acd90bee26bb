import { type Certificate, readCertificate } from '../../../../shared/certificates/certificate.ts';
import { type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { MAX_PEM } from '../../../../shared/wire/apply.ts';

/** The PEM texts of a Secret. */
export type SecretPair = {
  readonly certificate: string;
  readonly privateKey: string;
  /** Its last valid version, if this one is not valid. */
  readonly lastGood?: SecretPair;
};

/** Each version of a Secret is parsed once. */
const known = new WeakMap<SecretPair, Parsed<Certificate>>();

/** Reads the certificate of a Secret. Which names it must cover depends on who presents it. */
function readSecret(secret: SecretPair): Parsed<Certificate> {
  const before = known.get(secret);
  if (before) return before;
  const places = { certificate: 'tls.crt', privateKey: 'tls.key' };
  const read = readCertificate(secret.certificate, secret.privateKey, { places, needsNames: false });
  const isTooLong = read.ok && Math.max(read.value.chain.length, read.value.privateKey.length) > MAX_PEM;
  const result = isTooLong ? refused(`tls.crt: the chain or its key is longer than ${MAX_PEM} characters`) : read;
  known.set(secret, result);
  return result;
}

/** What messages say about it. */
export const EARLIER_STAYS = 'its last valid version is presented until that is corrected';

/** What is wrong with the newest version of a Secret; null if it can be presented. */
export function faultOfSecret(secret: SecretPair): string | null {
  const read = readSecret(secret);
  return read.ok ? null : read.reason;
}

/** The certificate of the last valid version; null if there was none. */
export function usableCertificate(secret: SecretPair): Certificate | null {
  const read = readSecret(secret);
  if (read.ok) return read.value;
  return secret.lastGood === undefined ? null : usableCertificate(secret.lastGood);
}
