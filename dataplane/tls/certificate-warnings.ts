import type { StoredCertificate, StoreProblem } from './store/cert-store.ts';

/** A warning is due when less than this share of the lifetime is left. Renewals start when a third is left. */
const SHARE_LEFT = 0.2;
const MAX_LINES = 5;

/** The certificate served for a name, and why its renewal fails. */
export type ServedCertificate = {
  readonly name: string;
  readonly certificate: StoredCertificate;
  /** Why the last order failed; null if it did not. */
  readonly lastError: string | null;
};

/** One thing that is wrong with certificates; `message` is a sentence. */
export type CertificateTrouble = {
  readonly kind:
    | 'certificate_missing'
    | 'certificate_expired'
    | 'certificate_expiring'
    | 'certificate_unusable'
    | 'certificate_refused'
    | 'certificate_impossible'
    | 'certificates_failed';
  readonly domain: string | null;
  readonly message: string;
};

/** A site without a certificate, and why the last order failed. */
export type MissingCertificate = { readonly name: string; readonly lastError: string };

/** One line for each site that has no certificate yet; a few at most. */
export function missingWarnings(missing: Iterable<MissingCertificate>): string[] {
  const all = [...missing];
  const lines = all.slice(0, MAX_LINES).map((one) => missingTrouble(one).message);
  return all.length > MAX_LINES ? [...lines, `${all.length - MAX_LINES} more sites have no certificate`] : lines;
}

export const missingTrouble = ({ name, lastError }: MissingCertificate): CertificateTrouble => ({
  kind: 'certificate_missing',
  domain: name,
  message: `${name} has no certificate: ${withoutName(name, lastError)}`,
});

/** A site that can't get a certificate as it is configured, with the reason. */
export type UncertifiableSite = { readonly name: string; readonly reason: string };

/** One line for each site that stays on HTTP without being configured to; a few at most. */
export function uncertifiableWarnings(sites: readonly UncertifiableSite[]): string[] {
  const lines = sites
    .slice(0, MAX_LINES)
    .map(
      ({ name, reason }) =>
        `${name} stays on HTTP: ${reason}; provide a certificate, write "tls internal", or "tls off" to keep it on HTTP`,
    );
  return sites.length > MAX_LINES ? [...lines, `${sites.length - MAX_LINES} more sites stay on HTTP`] : lines;
}

/** One line for each certificate file or folder that can't be used; a few at most. */
export function unusableWarnings(problems: readonly StoreProblem[]): string[] {
  const lines = problems.slice(0, MAX_LINES).map((problem) => unusableTrouble(problem).message);
  return problems.length > MAX_LINES ? [...lines, `${problems.length - MAX_LINES} more certificates can't be used`] : lines;
}

export const unusableTrouble = ({ reason }: StoreProblem): CertificateTrouble => ({
  kind: 'certificate_unusable',
  domain: null,
  message: `a certificate can't be used: ${reason}`,
});

export const impossibleTrouble = ({ name, reason }: UncertifiableSite): CertificateTrouble => ({
  kind: 'certificate_impossible',
  domain: name,
  message: `${name} stays on HTTP: ${reason}`,
});

/** null unless it ends soon, or has ended, and has no successor. `now` in ms since 1970. */
export function expiryTrouble(one: ServedCertificate, now: number): CertificateTrouble | null {
  if (!isEnding(one, now)) return null;
  const kind = end(one) <= now ? 'certificate_expired' : 'certificate_expiring';
  return { kind, domain: one.name, message: lineOf(one, now) };
}

/** Most reasons begin with the name. */
const withoutName = (name: string, reason: string): string => (reason.startsWith(`${name}: `) ? reason.slice(name.length + 2) : reason);

/** One line for each certificate that expires soon and has no successor, soonest first; a few at most. `now` in ms since 1970. */
export function expiryWarnings(served: Iterable<ServedCertificate>, now: number): string[] {
  const ending = [...served].filter((one) => isEnding(one, now)).toSorted((one, other) => end(one) - end(other));
  const lines = ending.slice(0, MAX_LINES).map((one) => lineOf(one, now));
  return ending.length > MAX_LINES ? [...lines, `${ending.length - MAX_LINES} more certificates expire soon`] : lines;
}

const end = ({ certificate }: ServedCertificate): number => certificate.notAfter;

/** Whether a certificate expires soon and has no successor, which its owner should know. `now` in ms since 1970. */
export function isEnding({ certificate, lastError }: Omit<ServedCertificate, 'name'>, now: number): boolean {
  const { source, notBefore, notAfter } = certificate;
  if (source === 'internal') return false;
  // A certificate that was just issued and has already expired means that a clock is wrong.
  if (source === 'acme' && lastError === null) return notAfter <= now;
  return notAfter - now < (notAfter - notBefore) * SHARE_LEFT;
}

function lineOf({ name, certificate, lastError }: ServedCertificate, now: number): string {
  const { notAfter } = certificate;
  const verb = notAfter <= now ? 'expired' : 'expires';
  return `the certificate of ${name} ${verb} at ${new Date(notAfter).toISOString()}; ${reasonOf(certificate, lastError)}`;
}

function reasonOf({ source, owner }: StoredCertificate, lastError: string | null): string {
  if (source === 'acme' && lastError === null) return 'check the clock of this machine';
  if (source === 'acme') return `its renewal fails: ${lastError}`;
  if (source !== 'applied') return `it was provided manually (${source}): provide a newer one`;
  return `${owner ? `controller "${owner.controller}"` : 'a controller'} applied it: put a newer one into its source`;
}
