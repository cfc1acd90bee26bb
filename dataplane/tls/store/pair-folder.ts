import { existsSync, lstatSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type Certificate, type ReadCertificateOptions, readCertificate } from '../../../shared/certificates/certificate.ts';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import { accepted, type Parsed, refused } from '../../../shared/values/parsed.ts';
import { discard, makePrivateFolder, syncFolder, writePrivate } from './private-file.ts';

const CHAIN = 'cert.pem';
const KEY = 'key.pem';
type Names = readonly (readonly [chain: string, key: string])[];
/** The names of our own two files. */
export const OUR_FILES: Names = [[CHAIN, KEY]];
/** Accepted names of manually placed files, in order of precedence. */
export const USUAL_FILES: Names = [
  ['fullchain.pem', 'privkey.pem'],
  [CHAIN, KEY],
  ['tls.crt', 'tls.key'],
];
const META = 'meta.json';
/** Renamed in this order, so that a crash in between can be recovered. */
const OURS = [KEY, CHAIN, META];
const NEW = '.new';
/** Larger files (bytes) are not read: no chain or key is this large. */
const MAX_BYTES = 262_144;

const metaSchema = z.object({
  domains: z.array(z.string()).min(1),
  order: z.string().nullable(),
  ari_id: z.string().nullable(),
  owner: z.object({ controller: z.string(), source: z.string() }).optional(),
  saved_at: z.iso.datetime(),
});
/** Metadata stored with one of our own pairs. */
export type PairMeta = z.output<typeof metaSchema>;

type PairPaths = { readonly chainPath: string; readonly keyPath: string };
export type PairFiles = PairPaths & {
  /** Changes when one of the files does. */
  readonly fingerprint: string;
};

/**
 * Finds the chain and key files of a folder, following symbolic links, without reading them; null if there are none. Inaccessible
 * files (a dangling link, a folder without permission) count as found, so that reading them reports the reason.
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

/** Common extensions of certificates and keys. */
const PAIR_LIKE = /\.(?:pem|crt|cer|cert|key|der|p12|pfx)$/i;

/** Describes certificate files under names that are not looked for, and what to do about them; null if there are none. */
export function misnamedPair(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() && PAIR_LIKE.test(path))
    return `${path} is not in a folder; put the chain and its key into a separate folder as fullchain.pem and privkey.pem`;
  const names = stats?.isDirectory() ? readdirSync(path).filter((name) => PAIR_LIKE.test(name)) : [];
  if (names.length === 0) return null;
  const usual = USUAL_FILES.map((pair) => pair.join(' and ')).join(', or ');
  return `${path} has no files with the expected names, only ${names.sort().slice(0, 3).join(', ')}; rename them to ${usual}`;
}

/** Changes when one of the two files does, through symbolic links. */
export const fingerprintOfPair = (chainPath: string, keyPath: string): string =>
  `${fingerprintOf(chainPath) ?? '-'} ${fingerprintOf(keyPath) ?? '-'}`;

const OUT_OF_REACH = 'out of reach';

/** Changes when the file does; null if there is none. */
function fingerprintOf(path: string): string | null {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats !== undefined) return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeMs}:${stats.ctimeMs}`;
    return isLostLink(path) ? OUT_OF_REACH : null;
  } catch (error) {
    // Otherwise it is a loop of links, or a folder without permission.
    return codeOf(error) === 'ENOTDIR' ? null : OUT_OF_REACH;
  }
}

/** Whether it is a dangling link. */
const isLostLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && !existsSync(path);

/**
 * Codes of errors that say what is at a path. All others, such as those of a network file system whose server is away, may be over a moment
 * later, and say nothing about the content of a file.
 */
const LASTING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENAMETOOLONG']);

/** A file that can't be read at the moment. What it contains is unknown, so what is known of it stays in use, and it is read again later. */
export class UnreadableNowError extends Error {}

/** The same because of its permissions, until someone corrects them. */
class DeniedError extends UnreadableNowError {}

/** Reads the two files. The refusal names the file. @throws UnreadableNowError */
export function readPairTexts({ chainPath, keyPath }: PairPaths): Parsed<Pick<Certificate, 'chain' | 'privateKey'>> {
  const chain = readText(chainPath);
  if (!chain.ok) return chain;
  const key = readText(keyPath);
  return key.ok ? accepted({ chain: chain.value, privateKey: key.value }) : key;
}

/** Reads and validates the pair. The refusal names the file. @throws UnreadableNowError */
export function readPair(
  seen: PairPaths,
  options: Pick<ReadCertificateOptions, 'needsNames'> = {},
): Parsed<Certificate & { readonly asWritten: boolean }> {
  const texts = readPairTexts(seen);
  if (!texts.ok) return texts;
  const { chain, privateKey } = texts.value;
  const places = { certificate: seen.chainPath, privateKey: seen.keyPath };
  const read = readCertificate(chain, privateKey, { ...options, places });
  return read.ok ? accepted({ ...read.value, asWritten: read.value.chain === chain && read.value.privateKey === privateKey }) : read;
}

const DENIED: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);
const REASONS: Readonly<Record<string, string>> = {
  ELOOP: 'is a loop of symbolic links; put the file there',
};

function readText(path: string): Parsed<string> {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return refused(`${path} is missing; put it there`);
    // Reading a named pipe would block forever.
    if (!stats.isFile()) return refused(`${path} is not a file; put the file there`);
    if (stats.size > MAX_BYTES) return refused(`${path} is larger than ${MAX_BYTES} bytes; put only the chain or the key there`);
    return accepted(readFileSync(path, 'utf8'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
    if (DENIED.has(code)) throw new DeniedError(`${path} can't be read (permission denied); give it to the user that this process runs as`);
    if (!LASTING.has(code)) throw new UnreadableNowError(`${path} can't be read now (${code}); it is tried again`);
    return refused(`${path} ${REASONS[code] ?? `can't be read (${code})`}`);
  }
}

/** The metadata of a pair; null if it can't be read, since it is not essential. @throws UnreadableNowError */
export function readMeta(folder: string): PairMeta | null {
  const text = readMetaText(folder);
  if (!text.ok) return null;
  try {
    return metaSchema.safeParse(JSON.parse(text.value)).data ?? null;
  } catch {
    // Not JSON: the same as none.
    return null;
  }
}

function readMetaText(folder: string): Parsed<string> {
  try {
    return readText(join(folder, META));
  } catch (error) {
    if (error instanceof DeniedError) return refused(error.message);
    throw error;
  }
}

/**
 * Writes one of our own pairs: first under temporary names, then renames all files without yielding to the event loop.
 * @throws the system's error; then the old pair is still there.
 */
export async function writePairFolder(folder: string, pair: Certificate, meta: PairMeta): Promise<void> {
  makePrivateFolder(folder);
  // What a crash has left would say that all has been written.
  discard(join(folder, META + NEW));
  try {
    await writePrivate(join(folder, KEY + NEW), pair.privateKey);
    await writePrivate(join(folder, CHAIN + NEW), pair.chain);
    await writePrivate(join(folder, META + NEW), `${JSON.stringify(meta, null, 2)}\n`);
    await syncFolder(folder);
  } catch (error) {
    // The next scan would take them for a pair whose renames were interrupted.
    for (const name of OURS.toReversed()) discard(join(folder, name + NEW));
    throw error;
  }
  renameWritten(folder);
  await syncFolder(folder);
}

/** Whether a crash has interrupted the renames after those of the pair: its metadata is that of the previous one, or missing. */
export const lacksMeta = (folder: string): boolean => existsSync(join(folder, META + NEW)) && !existsSync(join(folder, CHAIN + NEW));

/**
 * Renames temporary files to their final names, also after a crash in between. The last one exists as long as there is something to rename:
 * without it, or its end, another process is still writing them, or a crash has cut that. @returns whether there were any.
 */
export function finishWriting(folder: string): boolean {
  if (!isComplete(join(folder, META + NEW))) return false;
  renameWritten(folder);
  return true;
}

/** Another process may already have renamed some. */
function renameWritten(folder: string): void {
  const waiting = OURS.filter((name) => existsSync(join(folder, name + NEW)));
  for (const name of waiting) renameSync(join(folder, name + NEW), join(folder, name));
}

/** Whether a file of metadata has been written to its end. On a network file system, others see it before. */
function isComplete(path: string): boolean {
  try {
    return readFileSync(path, 'utf8').endsWith('}\n');
  } catch {
    // It is not there, or not readable now: the next scan looks again.
    return false;
  }
}
