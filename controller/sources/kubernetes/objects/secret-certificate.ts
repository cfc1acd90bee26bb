import { type Certificate, readCertificate } from '../../../../shared/certificates/certificate.ts';
import { type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { MAX_PEM } from '../../../../shared/wire/apply.ts';
import type { TlsSecret } from './secret.ts';

/** Each version of a Secret is parsed once. */
const known = new WeakMap<TlsSecret, Parsed<Certificate>>();

/** Reads the certificate of a Secret. Which names it must cover depends on who presents it. */
export function readSecret(secret: TlsSecret): Parsed<Certificate> {
  const before = known.get(secret);
  if (before) return before;
  const places = { certificate: 'tls.crt', privateKey: 'tls.key' };
  const read = readCertificate(secret.certificate, secret.privateKey, { places, needsNames: false });
  const isTooLong = read.ok && Math.max(read.value.chain.length, read.value.privateKey.length) > MAX_PEM;
  const result = isTooLong ? refused(`tls.crt: the chain or its key is longer than ${MAX_PEM} characters`) : read;
  known.set(secret, result);
  return result;
}
