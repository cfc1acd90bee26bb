import type { CertificateOutcome } from '../../../shared/wire/apply.ts';
import type { CertificatesFrame } from './applied-certificates.ts';

/** Certificates from controllers that were rejected, with the latest reason for each, for warnings. */
export class RejectedCertificates {
  /** By controller, then by domains. */
  private readonly reasons = new Map<string, Map<string, string>>();

  record({ header: { controller, based_on }, certificates }: CertificatesFrame, outcomes: readonly CertificateOutcome[]): void {
    const reasons = based_on === null ? new Map<string, string>() : (this.reasons.get(controller) ?? new Map<string, string>());
    for (const { domains } of certificates?.removed ?? []) reasons.delete(keyOf(domains));
    for (const { domains, result, reason = result } of outcomes) {
      if (result === 'rejected' || result === 'conflicted') reasons.set(keyOf(domains), reason);
      else reasons.delete(keyOf(domains));
    }
    this.reasons.set(controller, reasons);
  }

  warnings(): string[] {
    return [...this.reasons].flatMap(([controller, reasons]) =>
      [...reasons].map(([domains, reason]) => `the certificate for ${domains} that controller "${controller}" sent is not used: ${reason}`),
    );
  }
}

const keyOf = (domains: readonly string[]): string => [...domains].sort().join(', ');
