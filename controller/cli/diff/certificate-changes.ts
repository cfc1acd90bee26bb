import { X509Certificate } from 'node:crypto';
import type { CertificateRecord } from '../../../shared/wire/certificate.ts';
import { certificateKey } from '../../desired/desire.ts';
import type { SourceCertificate } from '../../sources/source.ts';

export type CertificateChange = { readonly change: 'added' | 'changed' | 'removed'; readonly domains: readonly string[] };

/**
 * What applying `wanted` as `controller` would change in the certificates of a data plane. Keys are not compared, since each belongs to
 * its certificate.
 */
export function certificateChanges(
  running: readonly CertificateRecord[],
  wanted: readonly SourceCertificate[],
  controller: string,
): CertificateChange[] {
  const theirs = running.filter(({ source, controller: owner }) => source === 'applied' && owner === controller);
  const before = new Map(theirs.map(({ domains, serial, not_after }) => [certificateKey(domains), printOf(serial, not_after)]));
  const named = new Set(wanted.map(({ domains }) => certificateKey(domains)));
  const changes = wanted.flatMap(({ domains, certificate }): CertificateChange[] => {
    const { serialNumber, validToDate } = new X509Certificate(certificate);
    const was = before.get(certificateKey(domains));
    if (was === printOf(serialNumber.toLowerCase(), validToDate.toISOString())) return [];
    return [{ change: was === undefined ? 'added' : 'changed', domains }];
  });
  const gone = theirs.filter(({ domains }) => !named.has(certificateKey(domains)));
  return [...changes, ...gone.map(({ domains }): CertificateChange => ({ change: 'removed', domains }))];
}

const printOf = (serial: string | null, notAfter: string | null): string => `${serial} ${notAfter}`;
