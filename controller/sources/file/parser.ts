import { quote, type Report } from './diagnostics.ts';
import { createLexer, type Token } from './lexer.ts';
import type { Block, Directive, Part } from './syntax.ts';
import type { Environment } from './variables.ts';
import { type Place, splitAtCommas, type Word } from './word.ts';

/** No construct of the language is deeper than half of this. */
const DEEPEST = 8;

/**
 * Reads the structure of a file, part by part, before anything in it has a meaning: a large file is never in
 * memory as a tree. Every mistake is reported and reading goes on behind it with what was understood.
 */
export function* parse(text: string, path: string, env: Environment, report: Report): Generator<Part> {
  const lexer = createLexer(text, path, env, report);
  let token = lexer.next();
  const advance = (): Token => {
    const passed = token;
    token = lexer.next();
    return passed;
  };
  const skipLineEnds = () => {
    while (token.kind === 'line-end') advance();
  };

  const wordsOfLine = (): Word[] => {
    const words: Word[] = [];
    while (token.kind === 'word') words.push(advance());
    return words;
  };

  /** The block that follows, if one does. The brace may stand on the next line only by mistake. */
  const blockAfter = (owner: Word, depth: number): Block | null => {
    const sameLine = token.kind !== 'line-end';
    skipLineEnds();
    if (token.kind !== 'open') return null;
    if (!sameLine) report.error(token, `"{" belongs on the line of ${quote(owner.text)}`);
    return block(depth);
  };

  const block = (depth: number): Block => {
    const open: Place = advance();
    if (depth > DEEPEST) {
      report.error(open, 'blocks are nested too deeply');
      skipBlock(open);
      return { open, lines: [] };
    }
    const lines = directives(open, depth);
    if (token.kind === 'word' || token.kind === 'open') report.error(token, 'a line end is missing after "}"');
    return { open, lines };
  };

  const directives = (open: Place, depth: number): Directive[] => {
    const lines: Directive[] = [];
    for (;;) {
      skipLineEnds();
      if (token.kind === 'end') {
        report.error(open, 'the block is never closed: add "}"');
        return lines;
      }
      if (token.kind === 'close') {
        advance();
        return lines;
      }
      if (token.kind === 'open') {
        report.error(token, '"{" has no directive before it');
        block(depth + 1);
        continue;
      }
      const name = advance();
      const args = wordsOfLine();
      lines.push({ name, args, block: blockAfter(name, depth + 1) });
    }
  };

  /** Without recursion, so that no depth is too deep. */
  const skipBlock = (open: Place) => {
    for (let depth = 1; depth > 0; ) {
      const { kind } = advance();
      if (kind === 'end') return report.error(open, 'the block is never closed: add "}"');
      if (kind === 'open') depth++;
      if (kind === 'close') depth--;
    }
  };

  /** Several addresses are separated by commas; a comma at the end of a line continues on the next. */
  const site = (): Part => {
    const first = token;
    const words = wordsOfLine();
    while (token.kind === 'line-end' && words.at(-1)?.style === 'bare' && words.at(-1)?.text.endsWith(',')) {
      skipLineEnds();
      for (const word of wordsOfLine()) words.push(word);
    }
    const siteBlock = blockAfter(first, 1);
    // A line without a block is probably no site at all; whoever reads the tree says so.
    return { kind: 'site', addresses: addressesOf(words, siteBlock ? report.error : () => undefined), block: siteBlock };
  };

  for (let first = true; ; first = false) {
    skipLineEnds();
    if (token.kind === 'end') return;
    if (token.kind === 'close') report.error(advance(), '"}" closes nothing: delete it');
    else if (token.kind === 'word') yield site();
    else if (first) yield { kind: 'globals', block: block(1) };
    else {
      report.error(token, 'this block has no site address before it; globals stand once, at the top of the file');
      block(1);
    }
  }
}

function addressesOf(words: readonly Word[], error: Report['error']): Word[] {
  const addresses: Word[] = [];
  let afterComma = true;
  for (const word of words) {
    splitAtCommas(word).forEach((part, index) => {
      if (index > 0) {
        if (afterComma) error(part, 'an address is missing before the comma');
        afterComma = true;
      }
      if (part.text === '' && part.style === 'bare' && part.exact) return;
      if (!afterComma) error(part, `a comma is missing before ${quote(part.text)}: site addresses are separated by commas`);
      addresses.push(part);
      afterComma = false;
    });
  }
  const last = words.at(-1);
  if (last && afterComma && addresses.length > 0) error(last, 'an address is missing after the comma');
  return addresses;
}
