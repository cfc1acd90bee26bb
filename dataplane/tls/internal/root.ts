import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { NAME } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { syncFolder, writePrivate } from '../store/private-file.ts';
import type { CertificateMaker, Signed } from './certificate-maker.ts';

const FILE = 'internal-root.pem';
const YEARS_MS = 10 * 365.25 * 86_400_000;
/** A root that ends sooner (ms) is replaced: its leaves would outlive it. */
const LEAST_MS = 30 * 86_400_000;
/** Clocks of other machines are this far behind (ms). */
export const BEHIND_MS = 3_600_000;

type Edge = { readonly clock: Clock; readonly random: Random; readonly log: Log };

/**
 * The root of the internal authority, made when there is none: one file of mode 0600 in the state directory, so that
 * its certificate and its key can't part. One that can't be used is set aside: whoever trusted it has to trust the new one.
 * @throws the system's error when it is there and can't be read, or can't be written.
 */
export async function openRoot(stateDir: string, maker: CertificateMaker, { clock, random, log }: Edge): Promise<Signed> {
  const path = join(stateDir, FILE);
  if (existsSync(path)) {
    const root = rootIn(readFileSync(path, 'utf8'), clock.now() + LEAST_MS);
    if (root !== null) return root;
    const aside = `${path}.old-${random.hex(4)}`;
    renameSync(path, aside);
    log.warn(
      { path, aside },
      'the root of the internal authority is damaged or about to end: a new one is made, which has to be trusted anew',
    );
  }
  const notBefore = clock.now() - BEHIND_MS;
  const root = await maker.root(`${NAME} internal authority ${random.hex(3)}`, { notBefore, notAfter: notBefore + YEARS_MS });
  await writePrivate(`${path}.new`, root.certificate + root.privateKey);
  renameSync(`${path}.new`, path);
  await syncFolder(dirname(path));
  return root;
}

/** null where it is no authority with its key, or ends before `until` (ms since 1970). */
function rootIn(text: string, until: number): Signed | null {
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
