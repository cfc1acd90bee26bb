import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';

/** The warnings for a site with these lines, as `line: message`. */
function warningsFor(...lines: string[]): string[] {
  const text = `(to) {\nredir /t/* {args[0]}\n}\na.example {\nreverse_proxy 127.0.0.1:1\npath_case sensitive\n${lines.join('\n')}\n}\n`;
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', { TO: '/b/*' });
  assert.ok(compiled.ok, compiled.ok ? '' : JSON.stringify(compiled.diagnostics));
  return compiled.warnings.map(({ place, message }) => `${(place?.line ?? 0) - 6}: ${message}`);
}

const inTarget = 'stands for itself: write {remainder} for what the pattern has matched, or quote it';
const inQuery = '"&" is a part of the value: write a space between parameters, or quote it';

test('a * in a target or a prefix, and an & between parameters, are warnings: they stand for themselves', () => {
  for (const [lines, warning] of [
    [['redir /a/* /b/*'], `1: redir "/b/*": "*" in a target ${inTarget}`],
    [['redir /a/* https://b.example/* 301'], `1: redir "https://b.example/*": "*" in a target ${inTarget}`],
    [['@m method GET', 'redir @m /b/*'], `2: redir "/b/*": "*" in a target ${inTarget}`],
    [['handle /a/* {', 'rewrite * /b/*', '}'], `2: rewrite "/b/*": "*" in a target ${inTarget}`],
    [['uri strip_prefix /api/*'], '1: uri "/api/*": "*" in strip_prefix stands for itself: write /api, or quote it'],
    [['@m method GET', 'uri @m strip_suffix *.html'], '2: uri "*.html": "*" in strip_suffix stands for itself: write .html, or quote it'],
    [['@m query a=1&b=2', 'respond @m 403'], `1: query "a=1&b=2": ${inQuery}`],
    [['@m {', 'not query a=1&b=2', '}', 'respond @m 403'], `2: query "a=1&b=2": ${inQuery}`],
    [['@m not {', 'query a=1&b=2', '}', 'respond @m 403'], `2: query "a=1&b=2": ${inQuery}`],
  ] as const)
    assert.deepEqual(warningsFor(...lines), [warning]);
});

test('so are marks of other patterns: a condition with them would match no request', () => {
  const slashes = 'the slashes around it are a part of the expression: delete them, and write (?i) at its start if case does not matter';
  const variable = 'stands for itself: "*" at the end matches any text, and path_regexp any pattern, or quote it';
  for (const [line, warning] of [
    ['@m path /a|/b', 'path "/a|/b": "|" stands for itself: name each path, in a matcher, or quote it'],
    ['@m path /users/:id/edit', `path "/users/:id/edit": ":id" ${variable}`],
    ['@m path /users/{id}', `path "/users/{id}": "{id}" ${variable}`],
    ['@m method PUT|DELETE', 'method "PUT|DELETE": "|" is a part of the name: write a space between methods, or quote it'],
    ['@m method put', 'method "put": methods differ in letter case: write PUT, or quote it'],
    ['@m query ?a=1', 'query "?a=1": "?" is a part of the name: delete it, or quote it'],
    ['@m path_regexp /^\\/admin/i', `path_regexp "/^\\/admin/i": ${slashes}, or quote it`],
    ['@m header_regexp User-Agent /bot/i', `header_regexp "/bot/i": ${slashes}, or quote it`],
    ['@m not query_regexp q /bot$/', `query_regexp "/bot$/": ${slashes}, or quote it`],
  ] as const)
    assert.deepEqual(warningsFor(line, 'respond @m 403'), [`1: ${warning}`]);
  assert.deepEqual(warningsFor('handle /users/:id {', 'header X-A b', '}'), [`1: handle "/users/:id": ":id" ${variable}`]);
});

test('they are none in quotes, where they mean something, or in the value of an argument or variable', () => {
  for (const lines of [
    ['redir /a/* "/b/*"', 'rewrite /c/* `/d/*`', 'uri strip_prefix "/api/*"'],
    ['redir /a/* {$TO}'],
    ['import to /b/*'],
    ['redir /a/* /b/{remainder}', 'redir /s /search?q=*', 'rewrite /c/* /d', 'uri replace * x', 'uri query a *'],
    ['@m query a=* b=x&y', 'respond @m 403'],
    ['@m query "a=1&b=2"', 'respond @m 403'],
    ['@m path "/a|/b" /wiki/Talk:Main /a(b) /x|y', 'respond @m 403'],
    ['@m path_regexp /admin/i', 'respond @m 403', '@n path_regexp ^/(a|b)/', 'respond @n 403', '@o path_regexp /a/', 'respond @o 403'],
    [
      '@i header_regexp Referer /static/img',
      'respond @i 403',
      '@r header_regexp Referer /admin/',
      'respond @r 403',
      '@m header_regexp Referer https?://x/',
      'respond @m 403',
      'method @m GET',
      '@n query a=?b',
      'respond @n 403',
    ],
  ])
    assert.deepEqual(warningsFor(...lines), []);
});
