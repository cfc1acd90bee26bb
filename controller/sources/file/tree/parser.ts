import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { splitAtCommas, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { Token, Tokens } from '../tokens/lexer.ts';
import type { ReadContext } from '../variables/read-context.ts';
import { resolveWord } from '../variables/variables.ts';
import { advance, type Cursor, here, skipLineEnds, startOf, wordsOfLine } from './cursor.ts';
import { blockAfter, endBlock, opens, readBlock } from './lines.ts';
import type { FilePart } from './syntax.ts';

/**
 * Reads the structure of a text part by part, before it is interpreted, so that a large file is never in memory as a tree. Every error is
 * reported, and reading continues after it.
 */
export function* parse(tokens: Tokens, context: ReadContext): Generator<FilePart> {
  const cursor = startOf(tokens, context);
  for (;;) {
    skipLineEnds(cursor);
    switch (cursor.token.kind) {
      case 'end':
        return;
      case 'open':
        yield { kind: 'globals', block: readBlock(cursor, 1) };
        break;
      case 'close':
        context.report.error(here(cursor), '"}" closes nothing: delete it');
        advance(cursor);
        break;
      default:
        yield isSnippet(cursor.token) ? snippet(cursor) : siteOrImport(cursor);
    }
  }
}

const isSnippet = ({ raw, style }: Token): boolean => style === 'bare' && raw.startsWith('(');

/** `(name) { … }`: its tokens are kept, because their meaning depends on the import. */
function snippet(cursor: Cursor): FilePart {
  const { report } = cursor.context;
  const name = resolveWord(advance(cursor), cursor.context);
  const extra = wordsOfLine(cursor)[0];
  if (extra) report.error(extra, `a snippet is its name and a block: write ${unquoted(name.text)} { … }`);
  if (!opens(cursor, name.text)) {
    report.error(name, `"{" is missing after ${quote(name.text)}: a snippet is written (name) { … }`);
    return { kind: 'snippet', name, tokens: [{ ...cursor.token, kind: 'end' }] };
  }
  const open = here(cursor);
  advance(cursor);
  const tokens = tokensOfBlock(cursor);
  endBlock(cursor, open);
  return { kind: 'snippet', name, tokens };
}

/** Up to the closing brace of the block, which becomes the `end`. */
function tokensOfBlock(cursor: Cursor): Token[] {
  const tokens: Token[] = [];
  for (let depth = 1; ; ) {
    const { kind } = cursor.token;
    if (kind === 'open') depth++;
    if (kind === 'close') depth--;
    if (kind === 'end' || depth === 0) break;
    tokens.push(advance(cursor));
  }
  tokens.push({ ...cursor.token, kind: 'end' });
  return tokens;
}

/** Several addresses are separated by commas; a comma at the end of a line continues on the next. */
function siteOrImport(cursor: Cursor): FilePart {
  const { report } = cursor.context;
  const words = wordsOfLine(cursor);
  const [first, ...rest] = words;
  if (first?.text === 'import' && first.style === 'bare')
    return { kind: 'import', directive: { name: first, args: rest, block: blockAfter(cursor, first.text, 1) } };
  while (cursor.token.kind === 'line-end' && words.at(-1)?.style === 'bare' && words.at(-1)?.text.endsWith(',')) {
    skipLineEnds(cursor);
    for (const word of wordsOfLine(cursor)) words.push(word);
  }
  const block = blockAfter(cursor, first?.text ?? '', 1);
  // A line without a block is probably not a site; the compiler reports it.
  return { kind: 'site', addresses: addressesOf(words, block ? report.error : () => undefined), block };
}

function addressesOf(words: readonly Word[], error: DiagnosticReport['error']): Word[] {
  const addresses: Word[] = [];
  let afterComma = true;
  for (const word of words) {
    splitAtCommas(word).forEach((part, index, parts) => {
      if (index > 0) {
        if (afterComma) error(part, 'an address is missing before the comma');
        afterComma = true;
      }
      // An empty part next to a comma is a missing address; one from an empty variable is a wrong address.
      if (part.text === '' && parts.length > 1) return;
      if (!afterComma) error(part, `a comma is missing before ${quote(part.text)}: site addresses are separated by commas`);
      addresses.push(part);
      afterComma = false;
    });
  }
  const last = words.at(-1);
  if (last && afterComma && addresses.length > 0) error(last, 'an address is missing after the comma');
  return addresses;
}
