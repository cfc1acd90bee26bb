import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { makePrivateFolder, syncFolder, writePrivate } from './private-file.ts';

const CHAIN = 'cert.pem';
const KEY = 'key.pem';
type Names = readonly (readonly [chain: string, key: string])[];
/** How the two files of ours are called. */
export const OUR_FILES: Names = [[CHAIN, KEY]];
/** How those of others may be called: the first two of which one is there count. */
export const USUAL_FILES: Names = [
  ['fullchain.pem', 'privkey.pem'],
  [CHAIN, KEY],
  ['tls.crt', 'tls.key'],
];
const META = 'meta.json';
/** In this order a crash between two of them can be made good. */
const OURS = [KEY, CHAIN, META];
const NEW = '.new';
/** No chain and no key is larger, and what is (bytes) need not be read. */
const MOST_BYTES = 262_144;

const metaSchema = z.object({
  domains: z.array(z.string()).min(1),
  order: z.string().nullable(),
  ari_id: z.string().nullable(),
  owner: z.object({ controller: z.string(), source: z.string() }).optional(),
  saved_at: z.iso.datetime(),
});
/** What is kept beside a pair of ours. */
export type PairMeta = z.output<typeof metaSchema>;

export type PairFiles = {
  readonly chainPath: string;
  readonly keyPath: string;
  /** Another text as soon as one of the files is another one. */
  readonly fingerprint: string;
};

/**
 * Which two files of a folder count, through symbolic links, without reading them; null where there are none. What can't be
 * reached (a link to nowhere, a folder that may not be entered) is there all the same: whoever reads it tells the reason.
 */
export function findPair(folder: string, files: Names): PairFiles | null {
  for (const [chain, key] of files) {
    const chainPath = join(folder, chain);
    const keyPath = join(folder, key);
    const [one, other] = [fingerprintOf(chainPath), fingerprintOf(keyPath)];
    if (one !== null || other !== null) return { chainPath, keyPath, fingerprint: `${one ?? '-'} ${other ?? '-'}` };
  }
  const [[chain, key] = [CHAIN, KEY]] = files;
  return isLostLink(folder) ? { chainPath: join(folder, chain), keyPath: join(folder, key), fingerprint: OUT_OF_REACH } : null;
}

/** How certificates and keys are called everywhere. */
const PAIR_LIKE = /\.(?:pem|crt|cer|cert|key|der|p12|pfx)$/i;

/** What somebody put there as a pair, under names that nobody looks for, and what to do about it; null where there is nothing of the kind. */
export function misnamedPair(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() && PAIR_LIKE.test(path))
    return `${path} lies beside the folders; put the chain and its key into a folder of their own, as fullchain.pem and privkey.pem`;
  const names = stats?.isDirectory() ? readdirSync(path).filter((name) => PAIR_LIKE.test(name)) : [];
  if (names.length === 0) return null;
  const usual = USUAL_FILES.map((pair) => pair.join(' and ')).join(', or ');
  return `${path} has no files under the names that are looked for, but ${names.sort().slice(0, 3).join(', ')}; call them ${usual}`;
}

const OUT_OF_REACH = 'out of reach';

/** Another text as soon as it is another file; null where there is none. */
function fingerprintOf(path: string): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats !== undefined) return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
    return isLostLink(path) ? OUT_OF_REACH : null;
  } catch (error) {
    // Else it is a circle of links, or a folder that may not be entered.
    return error instanceof Error && 'code' in error && error.code === 'ENOTDIR' ? null : OUT_OF_REACH;
  }
}

/** Whether it is a link to what is not there. */
const isLostLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && !existsSync(path);

/** The two files as they are. The refusal names the file. */
export function readPairTexts({ chainPath, keyPath }: PairFiles): Parsed<Pick<Certificate, 'chain' | 'privateKey'>> {
  const chain = readText(chainPath);
  if (!chain.ok) return chain;
  const key = readText(keyPath);
  return key.ok ? accepted({ chain: chain.value, privateKey: key.value }) : key;
}

/** Reads the pair and judges it. The refusal names the file. */
export function readPair(seen: PairFiles): Parsed<Certificate & { readonly asWritten: boolean }> {
  const texts = readPairTexts(seen);
  if (!texts.ok) return texts;
  const { chain, privateKey } = texts.value;
  const read = readCertificate(chain, privateKey, { certificate: seen.chainPath, privateKey: seen.keyPath });
  return read.ok ? accepted({ ...read.value, asWritten: read.value.chain === chain && read.value.privateKey === privateKey }) : read;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "can't be read (permission denied); give it to the user that this process runs as",
  ELOOP: 'is a link that leads in a circle; put the file there',
};

function readText(path: string): Parsed<string> {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return refused(`${path} is missing; put it there`);
    // A pipe would keep the process waiting for good.
    if (!stats.isFile()) return refused(`${path} is no file; put the file there`);
    if (stats.size > MOST_BYTES) return refused(`${path} is larger than ${MOST_BYTES} bytes; put only the chain or the key there`);
    return accepted(readFileSync(path, 'utf8'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
    return refused(`${path} ${REASONS[code] ?? `can't be read (${code})`}`);
  }
}

/** What is kept beside the pair; null where it can't be read, which costs nothing but these words. */
export function readMeta(folder: string): PairMeta | null {
  const text = readText(join(folder, META));
  if (!text.ok) return null;
  try {
    return metaSchema.safeParse(JSON.parse(text.value)).data ?? null;
  } catch {
    // Not JSON: the same as none.
    return null;
  }
}

/**
 * Writes a pair of ours: everything beside the old one first, then the names are changed in one turn of this process.
 * @throws the system's error; then what there was is still there.
 */
export async function writePairFolder(folder: string, pair: Certificate, meta: PairMeta): Promise<void> {
  makePrivateFolder(folder);
  await writePrivate(join(folder, KEY + NEW), pair.privateKey);
  await writePrivate(join(folder, CHAIN + NEW), pair.chain);
  await writePrivate(join(folder, META + NEW), `${JSON.stringify(meta, null, 2)}\n`);
  await syncFolder(folder);
  finishWriting(folder);
  await syncFolder(folder);
}

/** Gives what was written its names, perhaps after a crash in the middle. @returns whether there was anything. */
export function finishWriting(folder: string): boolean {
  const waiting = OURS.filter((name) => existsSync(join(folder, name + NEW)));
  for (const name of waiting) renameSync(join(folder, name + NEW), join(folder, name));
  return waiting.length > 0;
}
