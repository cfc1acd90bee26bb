import type { SampleRandom } from '../../../../codec/http1/oracle/testing/sample-random.ts';

const NAMES =
  'head body html script style title textarea noscript xmp iframe noembed noframes template meta base link p div table tr td colgroup a b form button pre li svg math select option frameset frame plaintext header bodyguard x'.split(
    ' ',
  );
/** Pieces that can be parsed in more than one way, wherever they are. */
const PIECES: readonly string[] = [
  ...'<>/!-?="\'&;:\n\t\f\r\0 '.split(''),
  ...['</', '<!', '<?', '<!-', '<!--', '-->', '--!>', '--', '->', '>-', '<!-->', '<!--->', '<!---->', '<!----!>', '<!---!>', '--!-->'],
  ...['<!doctype html>', '<!DOCTYPE x PUBLIC ">" \'>\'>', '<![CDATA[', ']]>', '<?xml version="1.0"?>', '</>', '</ >', '</!>', '< head>'],
  ...[
    '</head>',
    '</HEAD\n>',
    '</head/>',
    '</head x=">">',
    '</headx>',
    '<body>',
    '<BODY\tclass=a>',
    '<body/>',
    '<bodyx>',
    '<head>',
    '<html>',
  ],
  ...['</body>', '</html>', '<p>', '<div>', 'text', 'Grüße', '漢字', '\u{1f600}', 'é', '\ufeff', 'script', 'head', 'body'],
  ...['<script>', '</script>', '</SCRIPT\f>', '</script/>', '</scripty>', '<script src=a>', '<scripty>', '<script><!--', '--></script>'],
  ...['<style>', '</style>', '<title>', '</title>', '<textarea>', '</textarea>', '<noscript>', '</noscript>', '<template>', '</template>'],
  ...['<xmp>', '</xmp>', '<iframe>', '</iframe>', '<noembed>', '</noembed>', '<noframes>', '</noframes>'],
  ...['<table>', '<tr>', '<td>', '<colgroup>', '</table>', '<form>', '</p>', '<b>', '</b>', '<a href=x>'],
  ...[
    '<meta charset=utf-8>',
    '<meta http-equiv=a content="b">',
    "<META HTTP-EQUIV='c' content=d/>",
    '<base href="/y">',
    '<link x="</head>">',
  ],
];
/** Pieces that end the search; few pages have one. */
const RARE = ['<svg>', '</svg>', '<math>', '</math>', '<select>', '</select>', '<frameset>', '<plaintext>', '<option>'];
const QUOTES = ['"', "'", ''];

/** A page, usually with a sensible frame, whose head is full of pieces that mislead a search. */
export function samplePage(random: SampleRandom): string {
  const inside = () => repeated(random, 8, () => fragment(random));
  if (random.once(5)) return inside();
  const doctype = random.once(2) ? '<!doctype html>' : '';
  const start = random.pick(['\ufeff', '', '', '', '\n', '<!-- a -->']);
  const open = random.pick(['<html><head>', '<html>', '<head>', '', '<html lang=en>\n<head>\n']);
  const close = random.pick(['</head><body>', '</head>', '<body>', '</head>\n<body class=x>', '']);
  return `${start}${doctype}${open}${inside()}${close}${random.once(2) ? inside() : '<p>text</p></body></html>'}`;
}

function fragment(random: SampleRandom): string {
  switch (random.below(8)) {
    case 0:
      return `<!--${repeated(random, 4, () => random.pick(PIECES))}-->`;
    case 1:
      return `<script>${repeated(random, 5, () => random.pick(PIECES))}</script>`;
    case 2: {
      const name = random.pick(NAMES.slice(4, 13));
      return `<${name}>${repeated(random, 3, () => random.pick(PIECES))}</${name}>`;
    }
    case 3:
      return tag(random);
    case 4:
      return random.once(12) ? random.pick(RARE) : random.pick(PIECES);
    default:
      return random.pick(PIECES);
  }
}

function tag(random: SampleRandom): string {
  const rare = random.once(12);
  const name = rare ? random.pick(NAMES) : random.pick(NAMES.slice(0, 25));
  return `<${random.once(4) ? '/' : ''}${random.once(4) ? name.toUpperCase() : name}${repeated(random, 3, () => attribute(random))}${random.pick(['>', '>', ' >', '/>', ''])}`;
}

function attribute(random: SampleRandom): string {
  const quote = random.pick(QUOTES);
  const name = random.pick(['a', 'content', 'http-equiv', 'href', '=', '"', 'A', 'x/y', '<', 'b\0']);
  const value = repeated(random, 2, () => random.pick(PIECES));
  return `${random.pick([' ', '\n', '/', '\t', ''])}${name}${random.pick(['=', ' = ', '=', ''])}${quote}${value}${quote}`;
}

const repeated = (random: SampleRandom, most: number, make: () => string): string =>
  Array.from({ length: random.below(most + 1) }, make).join('');
