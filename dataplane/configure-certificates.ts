import { NAME } from '../shared/name.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import type { DataplaneSettings } from './settings/settings.ts';
import type { AcmeSettings } from './tls/issue/acme/acme-client.ts';
import type { DnsSettings } from './tls/issue/dns/dns-settings.ts';
import { CertificateDirectoryError, type LazyCertificateManager } from './tls/lazy-certificate-manager.ts';

/** Serves the existing certificates. @throws UsageError with the directory, the reason and the flag for another directory. */
export async function openCertificates(https: LazyCertificateManager, settings: DataplaneSettings, dns: DnsSettings | null): Promise<void> {
  try {
    if (acmeSettingsOf(settings, dns) !== null || settings.origins.certDir !== 'default') https.requireDirectory();
  } catch (error) {
    throw error instanceof CertificateDirectoryError ? new UsageError(`${NAME} dataplane: ${error.message}`) : error;
  }
  await https.open();
}

/** Applies the settings for certificates. */
export async function configureCertificates(
  https: LazyCertificateManager,
  settings: DataplaneSettings,
  dns: DnsSettings | null,
): Promise<void> {
  await https.setAcme(acmeSettingsOf(settings, dns));
  await https.useInternalIssuer(settings.localCerts);
}

/** The ACME settings; null without an e-mail, or if the internal authority issues for all sites. */
const acmeSettingsOf = (
  { email, localCerts, acmeDirectory, acmeRoot, acmeBinding }: DataplaneSettings,
  dns: DnsSettings | null,
): AcmeSettings | null =>
  email === null || localCerts
    ? null
    : {
        directory: acmeDirectory,
        rootPath: typeof acmeRoot === 'string' ? acmeRoot : null,
        roots: acmeRoot === null || typeof acmeRoot === 'string' ? null : acmeRoot.pem,
        email,
        binding: acmeBinding,
        dns,
      };
