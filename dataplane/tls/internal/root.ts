import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { INTERNAL_ROOT_FILE, NAME } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { syncFolder, writeFresh, writePrivate } from '../store/private-file.ts';
import type { CertificateGenerator, KeyPair } from './certificate-generator.ts';

/** The certificate alone, to be copied to where it is trusted. The suffix is the one that Debian asks for there. */
const PUBLIC_FILE = `${NAME}-internal-root.crt`;
const YEARS_MS = 10 * 365.25 * 86_400_000;
/** A root that ends sooner (ms) is replaced: its leaves would outlive it. */
const LEAST_MS = 30 * 86_400_000;
/** Clocks of other machines are this far behind (ms). */
export const CLOCK_SKEW_MS = 3_600_000;

type RootRuntime = { readonly clock: Clock; readonly random: Random; readonly log: Log };

/** Where whoever is to trust the root finds it; it holds no key. */
export const rootCertificatePath = (stateDir: string): string => join(stateDir, PUBLIC_FILE);

/**
 * The root of the internal authority, made when there is none: one file of mode 0600 in the state directory, so that
 * its certificate and its key can't part, and the certificate alone beside it. One that can't be used is set aside:
 * whoever trusted it has to trust the new one.
 * @throws the system's error when it is there and can't be read, or can't be written.
 */
export async function openRoot(stateDir: string, generator: CertificateGenerator, runtime: RootRuntime): Promise<KeyPair> {
  const root = savedRoot(stateDir, runtime) ?? (await newRoot(stateDir, generator, runtime));
  const path = rootCertificatePath(stateDir);
  if (!existsSync(path) || readFileSync(path, 'utf8') !== root.certificate) publishCertificate(path, root.certificate);
  return root;
}

/** The certificate of the root that was made here before; null where none was. */
export function readRootCertificate(stateDir: string): string | null {
  const path = join(stateDir, INTERNAL_ROOT_FILE);
  return existsSync(path) ? (parseRoot(readFileSync(path, 'utf8'), 0)?.certificate ?? null) : null;
}

function savedRoot(stateDir: string, { clock, random, log }: RootRuntime): KeyPair | null {
  const path = join(stateDir, INTERNAL_ROOT_FILE);
  if (!existsSync(path)) return null;
  const root = parseRoot(readFileSync(path, 'utf8'), clock.now() + LEAST_MS);
  if (root !== null) return root;
  const aside = `${path}.old-${random.hex(4)}`;
  renameSync(path, aside);
  log.warn(
    { path, aside },
    'the root of the internal authority is damaged or about to end: a new one is made, which has to be trusted anew',
  );
  return null;
}

async function newRoot(stateDir: string, generator: CertificateGenerator, { clock, random }: RootRuntime): Promise<KeyPair> {
  const notBefore = clock.now() - CLOCK_SKEW_MS;
  const root = await generator.root(`${NAME} internal authority ${random.hex(3)}`, { notBefore, notAfter: notBefore + YEARS_MS });
  const path = join(stateDir, INTERNAL_ROOT_FILE);
  await writePrivate(`${path}.new`, root.certificate + root.privateKey);
  renameSync(`${path}.new`, path);
  await syncFolder(stateDir);
  return root;
}

/** A copy of it in a list of what is trusted has to be readable for everybody, whatever this process's umask. */
function publishCertificate(path: string, certificate: string): void {
  writeFresh(`${path}.new`, certificate, 0o644);
  renameSync(`${path}.new`, path);
}

/** null where it is no authority with its key, or ends before `until` (ms since 1970). */
function parseRoot(text: string, until: number): KeyPair | null {
  try {
    const certificate = new X509Certificate(text);
    const privateKey = createPrivateKey(text);
    if (!certificate.ca || !certificate.checkPrivateKey(privateKey) || certificate.validToDate.getTime() < until) return null;
    return { certificate: certificate.toString(), privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
  } catch {
    // The library's words are a code; what matters is said by whoever sets the file aside.
    return null;
  }
}
