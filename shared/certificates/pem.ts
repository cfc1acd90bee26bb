import { accepted, type Parsed, refused } from '../values/parsed.ts';

/** Files that were joined may lack the line break between them, or begin with a byte order mark. */
const BEGIN = /(?<=^\ufeff?|-----)-----BEGIN ([A-Z0-9 ]+)-----[ \t]*\r?$/gm;

/** One block of a PEM text: its label (`CERTIFICATE`) and its text from the first dash to the last. */
export type PemBlock = { readonly label: string; readonly text: string };

/**
 * The blocks of a PEM text in order. Text around them is allowed (RFC 7468 2); a block without an end line, as in a
 * truncated file, is rejected.
 */
export function pemBlocks(text: string): Parsed<readonly PemBlock[]> {
  const blocks: PemBlock[] = [];
  for (const { 0: line, 1: label = '', index } of text.matchAll(BEGIN)) {
    const end = `-----END ${label}-----`;
    const at = text.indexOf(end, index);
    const next = text.indexOf('-----BEGIN ', index + line.length);
    if (at < 0 || (next >= 0 && next < at)) return refused(`part ${blocks.length + 1} (${label}) was cut off`);
    blocks.push({ label, text: `${text.slice(index, at + end.length).replaceAll('\r\n', '\n')}\n` });
  }
  return accepted(blocks);
}
