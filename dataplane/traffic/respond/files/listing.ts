import fs from 'node:fs';
import type { DiskAccess } from './disk.ts';
import type { Hidden } from './hidden.ts';

/** Most names on a page. */
const MOST_ENTRIES = 1_000;
/** Names that are looked at for one page, hidden ones included. */
const MOST_READ = 10_000;

type Entry = { readonly name: string; readonly isDirectory: boolean; readonly size: number | null; readonly modified: number | null };

/** A page with the names in an open directory. `names` are those from the root to it. */
export async function listingPage(
  disk: DiskAccess,
  fd: number,
  names: readonly string[],
  hasParent: boolean,
  hidden: Hidden,
): Promise<Buffer> {
  const path = process.platform === 'linux' ? `/proc/self/fd/${fd}` : `/dev/fd/${fd}`;
  const { entries, complete } = await entriesOf(disk, path, names, hidden);
  return Buffer.from(page(names, entries, hasParent, complete));
}

async function entriesOf(
  disk: DiskAccess,
  path: string,
  names: readonly string[],
  hidden: Hidden,
): Promise<{ entries: Entry[]; complete: boolean }> {
  const entries: Entry[] = [];
  const directory = await disk.run<fs.Dir>((done) => fs.opendir(path, { bufferSize: 256 }, done));
  let complete = true;
  try {
    for (let count = 0; ; count++) {
      const entry = await disk.run<fs.Dirent | null>((done) => directory.read(done));
      if (entry === null) break;
      if (count >= MOST_READ || entries.length >= MOST_ENTRIES) {
        complete = false;
        break;
      }
      if (hidden([...names, entry.name])) continue;
      const shown = await shownEntry(disk, path, entry);
      if (shown !== null) entries.push(shown);
    }
  } finally {
    await directory.close();
  }
  const order = new Intl.Collator('en', { numeric: true });
  entries.sort((one, other) => Number(other.isDirectory) - Number(one.isDirectory) || order.compare(one.name, other.name));
  return { entries, complete };
}

/** Nothing is told about what links lead to, since it may be outside of the root. */
async function shownEntry(disk: DiskAccess, path: string, entry: fs.Dirent): Promise<Entry | null> {
  const { name } = entry;
  const isDirectory = entry.isDirectory();
  if (entry.isSymbolicLink()) return { name, isDirectory, size: null, modified: null };
  if (!isDirectory && !entry.isFile()) return null;
  try {
    const { size, mtimeMs } = await disk.run<fs.Stats>((done) => fs.lstat(`${path}/${name}`, done));
    return { name, isDirectory, size: isDirectory ? null : size, modified: mtimeMs };
  } catch {
    // It was deleted after its name was read.
    return null;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ESCAPES[char] as string);
const linkTo = (name: string): string => encodeURIComponent(name.toWellFormed()).replaceAll("'", '%27');

function page(names: readonly string[], entries: readonly Entry[], hasParent: boolean, complete: boolean): string {
  const title = escaped(`Index of /${names.map((name) => `${name}/`).join('')}`);
  const rows = entries.map(({ name, isDirectory, size, modified }) => {
    const slash = isDirectory ? '/' : '';
    const date = modified === null ? '' : new Date(modified).toISOString();
    const time = date === '' ? '' : `<time datetime="${date}">${date.slice(0, 16).replace('T', ' ')}</time>`;
    return `<tr><td><a href="./${linkTo(name)}${slash}">${escaped(name)}${slash}</a><td>${size === null ? '' : sizeText(size)}<td>${time}`;
  });
  const parent = hasParent ? '<p><a href="../">Parent directory</a></p>\n' : '';
  const count = complete ? '' : `<p>Only the first ${entries.length} names are listed.</p>\n`;
  const table = `<table><thead><tr><th scope="col">Name<th scope="col">Size<th scope="col">Modified (UTC)<tbody>\n${rows.join('\n')}\n</table>`;
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
<body><main><h1>${title}</h1>
${parent}${count}${entries.length === 0 ? '<p>The directory is empty.</p>' : table}
</main></body></html>
`;
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}h1{font-size:1.25rem;overflow-wrap:anywhere}table{border-collapse:collapse;width:100%}th,td{padding:.35rem .5rem;text-align:left;border-bottom:1px solid #8884}td:first-child{overflow-wrap:anywhere}td:nth-child(n+2),th:nth-child(n+2){text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}';

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const unit = Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** unit).toFixed(1)} ${['B', 'kB', 'MB', 'GB', 'TB'][unit]}`;
}
