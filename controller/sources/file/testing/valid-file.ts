import { oneOf, type PseudoRandom } from './pseudo-random.ts';

/** The environment for the files of `validFile`. */
export const ENVIRONMENT = { NAME: 'sluice', DOMAINS: 'x.example, y.example' };

const HASH = '$2y$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';

/** A valid config file that uses as many variations of the language as possible. */
export function validFile(random: PseudoRandom): string {
  const w = new Writer(random);
  w.trivia();
  if (random(2) === 0)
    w.block([], () =>
      w.lines([
        ['http_port', '8080'],
        ['email', 'a@b'],
        ['trusted_proxies', '::1/64', '10.0.0.1'],
      ]),
    );
  w.block(['(s)'], () =>
    w.lines([
      ['header', 'X-S', '{args[0]}'],
      ['header', '-X-T'],
    ]),
  );
  w.block(['(t)'], () => w.directives(0));
  for (let site = random(5); site > 0; site--) {
    const addresses = [`a${site}.example${random(2) ? ',' : ' ,'}`, `*.b${site}.example`].slice(random(2));
    w.block(addresses, () => w.directives(2), true);
  }
  if (random(4) === 0) w.block(['{$DOMAINS}'], () => w.line(['respond', 'ok']));
  return w.text;
}

class Writer {
  text = '';
  private readonly random: PseudoRandom;

  constructor(random: PseudoRandom) {
    this.random = random;
  }

  /** Text without meaning: line ends, spaces and comments. */
  trivia(): void {
    for (let count = this.random(4); count > 0; count--) {
      this.text += oneOf(this.random, ['\n', '\r\n', '  \n', '\t', '# comment "x" { `\n', '#}\n', '\n\n\n', '# \\\n', ' # {\r\n']);
    }
  }

  lines(lines: readonly (readonly string[])[]): void {
    for (const line of lines) this.line(line);
  }

  line(words: readonly string[]): void {
    this.words(words);
    this.lineEnd();
    this.trivia();
  }

  block(words: readonly string[], inside: () => void, mayBreak = false): void {
    this.words(words);
    if (mayBreak && words.at(-2)?.endsWith(',') && this.random(3) === 0)
      this.text = this.text.replace(/,([ \t]|\\\r?\n)*(\S+)$/, ',\n\n  $2');
    this.text += oneOf(this.random, [' {\n', ' {', ' { # why not', '\t{\r\n']);
    this.text += oneOf(this.random, ['\n', ' \n', '\n\n# first\n\n']);
    inside();
    this.text += oneOf(this.random, ['}', ' }', '\t\t}']);
    this.lineEnd();
    this.trivia();
  }

  /** `depth`: how many more blocks may be nested. */
  directives(depth: number): void {
    this.block(['@m'], () =>
      this.lines([
        ['path', '/m/*', '/n'],
        ['not', 'method', 'GET'],
      ]),
    );
    this.line(['@n', 'header', '!X-N']);
    this.line(['header', '@n', 'X-M', '{$NAME}']);
    this.line(['respond', '@m', '404']);
    this.line(['respond', oneOf(this.random, ['200', '"a \\"b\\" {$NAME}"', '`two\nlines # {`', '`\\`', 'x\\', '#'.padStart(2, 'y')])]);
    if (this.random(3) === 0)
      this.block(['basic_auth', oneOf(this.random, ['staff', '"two words"', '`{`'])], () =>
        this.lines([
          ['bob', HASH],
          ['"# x"', `"${HASH}"`],
        ]),
      );
    for (let count = this.random(5); count > 0; count--) {
      const rest: readonly [() => void, ...(() => void)[]] = [
        () => this.line(['header', `X-${count}`, oneOf(this.random, ['a', '"b # c"', '{$NAME}', '{$NO:x,y}', '\\ ', '""', '`{host}`'])]),
        () => this.line(['redir', `/r${count}`, 'https://c.example{uri}', '308']),
        () => this.line(['import', 's', oneOf(this.random, ['x', '"two words"', '`{`'])]),
        () => this.oneLiner(['header'], ['X-One', 'line']),
        () => this.block(['header'], () => this.lines([[`X-B${count}`, 'c'], ['-X-D']])),
      ];
      oneOf(this.random, rest)();
    }
    for (let count = this.random(depth + 1); count > 0; count--) {
      if (this.random(2)) this.block(['handle', `/p${count}/*`], () => this.directives(0));
      else this.oneLiner(['handle_path', `/q${count}/*`], ['respond', '204']);
    }
  }

  private oneLiner(words: readonly string[], inside: readonly string[]): void {
    this.words(words);
    this.text += '  {\t';
    this.words(inside);
    this.text += '  }';
    this.lineEnd();
    this.trivia();
  }

  private words(words: readonly string[]): void {
    words.forEach((word, index) => {
      if (index > 0) this.text += oneOf(this.random, [' ', ' ', '\t', '  ', ' \\\n    ', ' \\\r\n ']);
      this.text += word;
    });
  }

  private lineEnd(): void {
    this.text += oneOf(this.random, ['\n', '\n', '\r\n', '  \n', ' # trailing\n', '\n\n']);
  }
}
