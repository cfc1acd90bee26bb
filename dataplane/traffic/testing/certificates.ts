import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Pair = { readonly cert: string; readonly key: string };

/** Test support: a certificate authority and the certificates it signs. */
export class CertificatesFixture {
  readonly ca: string;
  private readonly folder = mkdtempSync(join(tmpdir(), 'certificates-'));

  constructor() {
    writeFileSync(join(this.folder, 'ca.cnf'), AUTHORITY);
    writeFileSync(join(this.folder, 'issued'), '');
    this.run('req', '-x509', ...NEW_KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test authority', '-days', '2');
    this.ca = this.read('ca.pem');
  }

  /** A certificate for DNS names or addresses. */
  issue(...names: readonly string[]): Pair {
    return this.sign(alternative(names), ['-days', '2']);
  }

  /** A certificate for names of any kind, as OpenSSL writes them: `DNS:a.test,URI:http://a.test`. */
  issueFor(names: string): Pair {
    return this.sign(['-addext', `subjectAltName=${names}`], ['-days', '2']);
  }

  /** The same, but expired long ago. */
  issueExpired(name: string): Pair {
    return this.sign(alternative([name]), ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z']);
  }

  private sign(names: readonly string[], time: readonly string[]): Pair {
    this.run('req', '-new', ...NEW_KEY, '-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', '/CN=leaf', ...names);
    const authority = ['-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key'];
    this.run('ca', '-batch', '-notext', ...authority, '-in', 'leaf.csr', '-out', 'leaf.pem', ...time);
    return this.pair();
  }

  selfSigned(name: string): Pair {
    const out = ['-keyout', 'leaf.key', '-out', 'leaf.pem'];
    this.run('req', '-x509', ...NEW_KEY, ...out, '-subj', '/CN=leaf', '-days', '2', ...alternative([name]));
    return this.pair();
  }

  private pair(): Pair {
    return { cert: this.read('leaf.pem'), key: this.read('leaf.key') };
  }

  private read(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  private run(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] });
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const alternative = (names: readonly string[]): string[] => [
  '-addext',
  `subjectAltName=${names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`).join()}`,
];

/** Signs any request for its names. */
const AUTHORITY = `[ca]
default_ca = all
[all]
database = issued
new_certs_dir = .
rand_serial = yes
unique_subject = no
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`;
