import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HeadScanner } from './head-scanner.ts';

const MARK = '|';
const ignore = (): void => undefined;

/** The document with a mark at the insertion point that was found when it arrived in pieces of `size` bytes. */
function marked(document: string, size: number): string {
  const bytes = Buffer.from(document);
  const scanner = new HeadScanner(ignore);
  for (let from = 0, passed = 0; from < bytes.length; from += size) {
    const to = Math.min(from + size, bytes.length);
    const { outcome, safe } = scanner.scan(bytes, from, to);
    assert.ok(safe >= passed && safe <= to, 'what was passed on is not called back');
    assert.ok(to - safe <= 6 || outcome !== 'searching', 'at most six bytes are held');
    passed = safe;
    if (outcome === 'found') return bytes.toString('utf8', 0, safe) + MARK + bytes.toString('utf8', safe);
    if (outcome === 'none') break;
  }
  return document;
}

/** The same for the whole document and for pieces of every small size. */
function place(document: string): string {
  const whole = marked(document, document.length * 4);
  for (const size of [1, 2, 3, 5, 7, 16]) assert.equal(marked(document, size), whole, `in pieces of ${size}`);
  return whole;
}

const FOUND = [
  '<!doctype html><html><head><title>a</title>|</head><body>',
  '<HTML><HEAD>|</HEAD\n>',
  '<head>|</head/>',
  'Grüße <head>|</head>',
  '<html>|<body class="x">',
  '|<BODY>',
  '<header></header><headline></headline><bodyguard>|<body>',
  '<!-- </head> -->|</head>',
  '<!--></head>-->'.replace('<!-->', '<!-->|'),
  '<!---->|</head>',
  '<!--->|</head>',
  '<!-- a --!>|</head>',
  '<!--!></head>-->|</head>',
  '<!-- a -- > </head> -->|</head>',
  `<!--${'a long comment '.repeat(9)} > -> --> |</head>`,
  `<!--${' - '.repeat(50)}--!>|</head>`,
  `<!--${' - '.repeat(50)}-!></head>-->|</head>`,
  '<!doctype </head>|</head>',
  '<?xml </head >|</head>',
  '</ </head >|</head>',
  '</>|</head>',
  '<3 </1> <>|</head>',
  '<meta content="</head>">|</head>',
  "<meta content='</head>'/>|</head>",
  '<meta content=</head>|</head>',
  '<meta a b = "</head>" c>|</head>',
  '<meta =">" x>|</head>',
  '<script>"</head>"</script>|</head>',
  '<script>"</scripty></head>"</SCRIPT >|</head>',
  '<script>a<b</script x="</head>">|</head>',
  '<script><!-- </head> </script>|</head>',
  '<script><!-- <script> </script> </head> --></script>|</head>',
  '<script><!-- <script> </script> </script>|</head>',
  '<script><!--></script>|</head>',
  '<script><!-- <script> --> </script>|</head>',
  '<script><!-- <scripty> </script>|</head>',
  '<style></head></style>|</head>',
  '<title></head><!-- </title>|</head>',
  '<noscript><link></head></noscript>|</head>',
  '<textarea></head></textarea/>|</head>',
  '<script/>"</head>"</script>|</head>',
  '<!----!>|</head>-->',
  '<!---!></head>-->|</head>',
  '<template><style></template></style></head><body></template>|</head>',
  '</template><template><template></template></head></template>|</head>',
  '<head>|</head><svg>',
  '<<head>|</head>',
  '<</head>'.replace('<<', '<|<'),
  '<link><</head>'.replace('><<', '><|<'),
];

const NOWHERE = [
  '',
  '<p>a fragment</p>',
  '<!-- </head>',
  '<script></head><body></script',
  '<plaintext></head></plaintext></head>',
  '<svg><![CDATA[</head>]]></svg></head>',
  '<math></math></head>',
  '<select><title></head></title></select></head>',
  '<frameset></frameset></head>',
  '<head><template></head><body>',
  '</head',
  '<body',
  '<meta content="</head><body>',
  '</headx></bod></body>',
];

describe('the end of the head', () => {
  for (const document of FOUND)
    it(`is at the mark, in pieces of any size: ${document}`, () => assert.equal(place(document.replace(MARK, '')), document));
  for (const document of NOWHERE) it(`is nowhere in ${JSON.stringify(document)}`, () => assert.equal(place(document), document));

  it('is not searched beyond a megabyte', () => {
    const scanner = new HeadScanner(ignore);
    const piece = Buffer.from(' '.repeat(65_536));
    const outcomes = Array.from({ length: 17 }, () => scanner.scan(piece, 0, piece.length).outcome);
    assert.deepEqual(outcomes.slice(-2), ['searching', 'none']);
  });
});

describe('tags before it', () => {
  const tags = (document: string) => {
    const seen: [string, object][] = [];
    const scanner = new HeadScanner((name, attributes) => seen.push([name, Object.fromEntries(attributes)]));
    const bytes = Buffer.from(document);
    scanner.scan(bytes, 0, bytes.length);
    return seen;
  };

  it('are reported with their attributes: meta and base', () => {
    assert.deepEqual(tags('<META Http-Equiv=a CONTENT="b &amp; c"><link rel=x><base href=\'/y\' target><meta/charset=v/></meta></head>'), [
      ['meta', { 'http-equiv': 'a', content: 'b &amp; c' }],
      ['base', { href: '/y' }],
      ['meta', { charset: 'v/' }],
    ]);
  });

  it('keep the first attribute of a name, and no value that is too long', () => {
    assert.deepEqual(tags(`<meta charset=1 charset=2 content="${'x'.repeat(20_000)}"></head>`), [
      ['meta', { charset: '1', content: null }],
    ]);
  });

  it('are not those in comments and scripts, nor those after it', () => {
    assert.deepEqual(tags('<!-- <meta a> --><script><meta b></script></head><meta c>'), []);
  });
});
