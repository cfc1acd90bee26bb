import { type Certificate, readCertificate } from '../../../../shared/certificates/certificate.ts';
import { covers } from '../../../../shared/certificates/certificate-names.ts';
import { CATCH_ALL } from '../../../../shared/values/host.ts';
import type { Parsed } from '../../../../shared/values/parsed.ts';
import type { SourceCertificate } from '../../source.ts';
import type { TlsSecret } from '../objects/secret.ts';

/** More names are split into several lines. */
const MOST_NAMES = 100;

/** The certificates of Secrets, and which hosts use them. */
export class Certificates {
  private readonly secrets: ReadonlyMap<string, TlsSecret>;
  private readonly hosts = new Map<string, string[]>();

  constructor(secrets: ReadonlyMap<string, TlsSecret>) {
    this.secrets = secrets;
  }

  /** Uses a Secret for a host. @returns why it can't be used; null if it can. */
  use(secret: string, host: string): string | null {
    const found = this.secrets.get(secret);
    if (found === undefined) return `the TLS Secret ${secret} does not exist (its type must be kubernetes.io/tls)`;
    const certificate = read(found);
    if (!certificate.ok) return `the Secret ${secret}: ${certificate.reason}`;
    if (host !== CATCH_ALL && !covers(certificate.value.domains, host))
      return `the certificate of the Secret ${secret} is for ${certificate.value.domains.slice(0, 5).join(', ')}, not for ${host}`;
    this.note(secret, host);
    return null;
  }

  /** Presents a Secret for a host, whatever names it has, as listeners of Gateways do. @returns whether it can be. */
  present(secret: string, host: string): boolean {
    const found = this.secrets.get(secret);
    if (found === undefined || !read(found).ok) return false;
    this.note(secret, host);
    return true;
  }

  private note(secret: string, host: string): void {
    const hosts = this.hosts.get(secret);
    if (hosts) hosts.push(host);
    else this.hosts.set(secret, [host]);
  }

  /** A certificate for the catch-all host is for the names that it has itself. */
  list(): SourceCertificate[] {
    return [...this.hosts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([secret, hosts]) => {
        const found = this.secrets.get(secret);
        const certificate = found && read(found);
        if (!certificate?.ok) return [];
        const { domains: names, chain, privateKey } = certificate.value;
        const domains = [...new Set(hosts.flatMap((host) => (host === CATCH_ALL ? names : [host])))].sort();
        const lines = Array.from({ length: Math.ceil(domains.length / MOST_NAMES) }, (_, at) =>
          domains.slice(at * MOST_NAMES, (at + 1) * MOST_NAMES),
        );
        return lines.map((line) => ({ domains: line, certificate: chain, private_key: privateKey }));
      });
  }
}

/** Each version of a Secret is read once. */
const known = new WeakMap<TlsSecret, Parsed<Certificate>>();

function read(secret: TlsSecret): Parsed<Certificate> {
  const before = known.get(secret);
  if (before) return before;
  const result = readCertificate(secret.certificate, secret.privateKey, { certificate: 'tls.crt', privateKey: 'tls.key' });
  known.set(secret, result);
  return result;
}
