export type ListingEntry = {
  readonly name: string;
  readonly isDirectory: boolean;
  /** Bytes; null if it is not shown. */
  readonly size: number | null;
  /** Milliseconds since 1970; null if it is not shown. */
  readonly modified: number | null;
};

/** One page of the names in a directory. */
export type DirectoryListing = {
  /** From the root to the directory. */
  readonly names: readonly string[];
  readonly hasParent: boolean;
  readonly entries: readonly ListingEntry[];
  /** From 1. */
  readonly page: number;
  readonly pages: number;
  /** Names in the directory, hidden ones not counted. */
  readonly total: number;
  /** Whether that is all of them. */
  readonly complete: boolean;
};

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ESCAPES[char] as string);
const linkTo = (name: string): string => encodeURIComponent(name.toWellFormed()).replaceAll("'", '%27');

export function listingHtml({ names, hasParent, entries, page, pages, total, complete }: DirectoryListing): string {
  const title = escaped(`Index of /${names.map((name) => `${name}/`).join('')}`);
  const parent = hasParent ? '<p><a href="../">Parent directory</a></p>\n' : '';
  const table = `<table><thead><tr><th scope="col">Name<th scope="col">Size<th scope="col">Modified (UTC)<tbody>\n${entries.map(row).join('\n')}\n</table>`;
  const others = pages > 1 ? `${pager(page, pages, total, complete)}\n` : '';
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
<body><main><h1>${title}</h1>
${parent}${others}${entries.length === 0 ? '<p>The directory is empty.</p>' : table}
${others}</main></body></html>
`;
}

/** File systems have later times than dates can express (ms since 1970). */
const LATEST = 8.64e15;

function row({ name, isDirectory, size, modified }: ListingEntry): string {
  const slash = isDirectory ? '/' : '';
  const date = modified === null || Math.abs(modified) > LATEST ? '' : new Date(modified).toISOString();
  const time = date === '' ? '' : `<time datetime="${date}">${date.slice(0, 16).replace('T', ' ')}</time>`;
  return `<tr><td><a href="./${linkTo(name)}${slash}">${escaped(name)}${slash}</a><td>${size === null ? '' : sizeText(size)}<td>${time}`;
}

function pager(page: number, pages: number, total: number, complete: boolean): string {
  const link = (to: number, words: string, rel: string): string =>
    to < 1 || to > pages || to === page ? '' : `<a href="?page=${to}" rel="${rel}">${words}</a> `;
  const count = `${complete ? '' : 'the first '}${total.toLocaleString('en')} names`;
  return `<nav aria-label="Pages">${link(1, 'First', 'first')}${link(page - 1, 'Previous', 'prev')}<span>Page ${page} of ${pages}, ${count}</span> ${link(page + 1, 'Next', 'next')}${link(pages, 'Last', 'last')}</nav>`;
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui;margin:2rem auto;max-width:60rem;padding:0 1rem}h1{font-size:1.25rem;overflow-wrap:anywhere}nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem;margin:1rem 0}table{border-collapse:collapse;width:100%}th,td{padding:.35rem .5rem;text-align:left;border-bottom:1px solid #8884}td:first-child{overflow-wrap:anywhere}td:nth-child(n+2),th:nth-child(n+2){text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}';

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const unit = Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** unit).toFixed(1)} ${['B', 'kB', 'MB', 'GB', 'TB'][unit]}`;
}
