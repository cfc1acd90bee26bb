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

test('they are none in quotes, where they mean something, or in the value of an argument or variable', () => {
  for (const lines of [
    ['redir /a/* "/b/*"', 'rewrite /c/* `/d/*`', 'uri strip_prefix "/api/*"'],
    ['redir /a/* {$TO}'],
    ['import to /b/*'],
    ['redir /a/* /b/{remainder}', 'redir /s /search?q=*', 'rewrite /c/* /d', 'uri replace * x', 'uri query a *'],
    ['@m query a=* b=x&y', 'respond @m 403'],
    ['@m query "a=1&b=2"', 'respond @m 403'],
  ])
    assert.deepEqual(warningsFor(...lines), []);
});
