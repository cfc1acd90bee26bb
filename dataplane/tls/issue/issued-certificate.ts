import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { covers } from '../../../shared/certificates/certificate-names.ts';
import type { IssuedCertificate } from './acme/acme-client.ts';
import { IssueError } from './issue-error.ts';
import type { Validity } from './renewal/renewal-time.ts';

/** A certificate with a shorter lifetime (ms) would have to be renewed as soon as it is stored, again and again. */
const MIN_LIFETIME_MS = 60_000;

/**
 * Reads an issued certificate. Rejects one that is unusable, has hardly any lifetime, or is not valid now while `held` is. Without a
 * valid `held`, one that is not valid now is accepted, since our clock may be wrong. `now` in ms since 1970.
 * @throws IssueError.
 */
export function readIssued(name: string, { certificate, privateKey }: IssuedCertificate, held: Validity | null, now: number): Certificate {
  const refuse = (reason: string): never => {
    throw new IssueError('refused', `${name}: the authority issued an unusable certificate: ${reason}`);
  };
  if (typeof certificate !== 'string') return refuse('the response is not PEM');
  const read = readCertificate(certificate, privateKey);
  if (!read.ok) return refuse(read.reason);
  const { domains, notBefore, notAfter } = read.value;
  if (!covers(domains, name)) return refuse(`a certificate for ${domains.slice(0, 5).join(', ')}`);
  const [from, until] = [notBefore, notAfter].map((at) => new Date(at).toISOString());
  if (notAfter - notBefore < MIN_LIFETIME_MS) return refuse(`a certificate from ${from} until ${until}, which is less than a minute`);
  if (held !== null && isGood(held, now) && !isGood(read.value, now))
    return refuse(`a certificate from ${from} until ${until}; check the clock of this machine`);
  return read.value;
}

const isGood = ({ notBefore, notAfter }: Validity, now: number): boolean => notBefore <= now && now < notAfter;
