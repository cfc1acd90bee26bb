import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { INTERNAL_ROOT_FILE, NAME } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { syncFolder, writeFresh, writePrivate } from '../store/private-file.ts';
import type { CertificateGenerator, GeneratedPair } from './certificate-generator.ts';

/** The certificate without its key, for installing as trusted. Debian requires this suffix. */
const PUBLIC_FILE = `${NAME}-internal-root.crt`;
const YEARS_MS = 10 * 365.25 * 86_400_000;
/** A root that expires sooner (ms) is replaced, since its leaves would outlive it. */
export const MIN_ROOT_MS = 30 * 86_400_000;
/** Certificates are backdated by this much (ms), since other machines' clocks may be slow. */
export const CLOCK_SKEW_MS = 3_600_000;
/** The root by this much (ms): it stays when our own clock, which may have been wrong when it was created, is set back. */
const ROOT_SKEW_MS = 366 * 86_400_000;

type RootRuntime = { readonly clock: Clock; readonly random: Random; readonly log: Log };

/** The file to install as trusted; it holds no key. */
export const rootCertificatePath = (stateDir: string): string => join(stateDir, PUBLIC_FILE);

/**
 * Reads the root of the internal authority, or creates it: one file of mode 0600 in the state directory, so that its
 * certificate and key stay together, and a copy of the certificate beside it. An unusable root is renamed and replaced;
 * then the new one has to be trusted. Sites don't need the copy, so one that can't be written is only logged.
 * @throws the system's error when the file exists but can't be read, or can't be written.
 */
export async function openRoot(stateDir: string, generator: CertificateGenerator, runtime: RootRuntime): Promise<GeneratedPair> {
  const root = savedRoot(stateDir, runtime) ?? (await newRoot(stateDir, generator, runtime));
  publishCertificate(rootCertificatePath(stateDir), root.certificate, runtime.log);
  return root;
}

/** The certificate of an existing root; null if there is none. */
export function readRootCertificate(stateDir: string): string | null {
  const path = join(stateDir, INTERNAL_ROOT_FILE);
  return existsSync(path) ? (parseRoot(readFileSync(path, 'utf8'), 0)?.certificate ?? null) : null;
}

function savedRoot(stateDir: string, { clock, random, log }: RootRuntime): GeneratedPair | null {
  const path = join(stateDir, INTERNAL_ROOT_FILE);
  // One that can't be read now, or is a link to a disk that is not mounted, must not be replaced: visitors trust it.
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null;
  const root = parseRoot(readFileSync(path, 'utf8'), clock.now() + MIN_ROOT_MS);
  if (root !== null) return root;
  const aside = `${path}.old-${random.hex(4)}`;
  renameSync(path, aside);
  log.warn(
    { path, aside },
    'the root of the internal authority is damaged or about to expire: a new one is created, which has to be trusted again',
  );
  return null;
}

async function newRoot(stateDir: string, generator: CertificateGenerator, { clock, random }: RootRuntime): Promise<GeneratedPair> {
  const now = clock.now();
  const lifetime = { notBefore: now - ROOT_SKEW_MS, notAfter: now + YEARS_MS };
  const root = await generator.root(`${NAME} internal authority ${random.hex(3)}`, lifetime);
  const path = join(stateDir, INTERNAL_ROOT_FILE);
  await writePrivate(`${path}.new`, root.certificate + root.privateKey);
  renameSync(`${path}.new`, path);
  await syncFolder(stateDir);
  return root;
}

/** The copy has to be readable for all users, regardless of our umask. */
function publishCertificate(path: string, certificate: string, log: Log): void {
  try {
    if (existsSync(path) && readFileSync(path, 'utf8') === certificate) return;
    writeFresh(`${path}.new`, certificate, 0o644);
    renameSync(`${path}.new`, path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ path, reason }, 'the root certificate of the internal authority could not be written where it can be copied from');
  }
}

/** null if it is not a CA certificate with its key, or expires before `until` (ms since 1970). */
function parseRoot(text: string, until: number): GeneratedPair | null {
  try {
    const certificate = new X509Certificate(text);
    const privateKey = createPrivateKey(text);
    if (!certificate.ca || !certificate.checkPrivateKey(privateKey) || certificate.validToDate.getTime() < until) return null;
    return { certificate: certificate.toString(), privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
  } catch {
    // The library's error adds nothing; the caller logs that the root is damaged.
    return null;
  }
}
