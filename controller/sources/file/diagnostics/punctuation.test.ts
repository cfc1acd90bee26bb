import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';

/** The errors for a site with these lines, as `line: message`. */
function errorsFor(...lines: string[]): string[] {
  const text = `(args) {\n@args path {args[0]}\nredir @args /args\n}\na.example {\nreverse_proxy 127.0.0.1:1\n${lines.join('\n')}\n}\n`;
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', { COMMA: '/a,' });
  return compiled.ok ? [] : compiled.diagnostics.map(({ place, message }) => `${(place?.line ?? 0) - 6}: ${message}`);
}

const endsWith = (word: string, mark: string): string =>
  `"${word}" ends with a ${mark}: delete it, or quote the word if it is a part of it`;

test('a word that ends with a comma or a semicolon is an error in lists of paths, names and parameters, also in blocks', () => {
  const files = (...lines: string[]) => ['handle /f/* {', 'root /srv', 'file_server {', ...lines, '}', '}'];
  for (const [lines, ...errors] of [
    [['@deny path /admin, /backup', 'respond @deny 404'], `1: ${endsWith('/admin,', 'comma')}`],
    [['@deny {', 'path /admin, /backup', '}', 'respond @deny 404'], `2: ${endsWith('/admin,', 'comma')}`],
    [['@deny not path /a, /b', 'respond @deny 404'], `1: ${endsWith('/a,', 'comma')}`],
    [['@deny query a=1, b=2', 'respond @deny 404'], `1: ${endsWith('a=1,', 'comma')}`],
    [files('hide *.bak, secret;'), `4: ${endsWith('*.bak,', 'comma')}`, `4: ${endsWith('secret;', 'semicolon')}`],
    [files('index a.html, b.html'), `4: ${endsWith('a.html,', 'comma')}`],
    [['handle /a; {', 'respond "a"', '}'], `1: ${endsWith('/a;', 'semicolon')}`],
    [['handle /b {', 'redir /a, /b', '}'], `2: ${endsWith('/a,', 'comma')}`],
    [['cache {', 'key query id;', '}'], `2: ${endsWith('id;', 'semicolon')}`],
    [['handle /a,/b {', 'respond "a"', '}'], '1: "/a,/b" is a single path: name both in a matcher, as in @name path /a /b, or quote it'],
    [
      ['split /a,/b 1 {', 'respond "a"', '}', 'split "/a,/b" 1 {', 'respond "b"', '}'],
      '1: "/a,/b" is a single path: name both in a matcher, as in @name path /a /b, or quote it',
    ],
    [['@deny path /a,/b', 'respond @deny 404'], '1: "/a,/b" is a single path: write a space instead of the comma, or quote it'],
  ] as const)
    assert.deepEqual(errorsFor(...lines), errors);
});

test('it is no error in quotes, in a text, in the value of an argument or variable, or inside a word', () => {
  const handles = (path: string) => [`handle ${path} {`, 'respond "a;"', '}'];
  for (const lines of [
    handles('"/a,"'),
    handles('`/a;`'),
    handles('/a,b;c'),
    handles('{$COMMA}'),
    ['import args "/a,"'],
    ['header X-A a;', 'header {', 'X-B b,', '}', 'request_header X-C c;', '@text header X-D d,', 'redir @text /text'],
    ['uri replace , ;'],
    ['uri path_regexp ^/a; /b,'],
    ['@odd {', 'query_regexp a ^b,', 'path_regexp ^/a;', '}', 'redir @odd /odd'],
    ['rewrite /i.php?s=1,/x', 'redir /maps/@1,/ https://x.test/'],
    ['handle /text {', 'respond hello,', '}'],
  ])
    assert.deepEqual(errorsFor(...lines), []);
});

test('a word with another mistake has one error', () => {
  assert.equal(errorsFor('ip_filter allow 192.0.2.1, 192.0.2.2').length, 1);
});
