import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';
import { filesOnDisk } from '../text/files.ts';

function warnings(text: string): string[] {
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', {}, filesOnDisk('/'));
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.diagnostics.map(formatDiagnostic).join('\n'));
  return compiled.warnings.map(formatDiagnostic);
}

const LINES = ['lb_policy first', 'health_uri /up', 'hold 5s', 'transport h2c', 'cache 1m', 'method POST', 'request_header X-A b'];
const PATHS = ['rewrite * /x', 'uri strip_prefix /a'];
const nameOf = (line: string): string => line.split(' ')[0] ?? '';

for (const line of [...LINES, ...PATHS]) {
  const without = LINES.includes(line) ? 'reverse_proxy' : 'reverse_proxy and no file_server';
  test(`${line} is a warning where nothing is forwarded`, () => {
    assert.deepEqual(warnings(`a.test {\n${line}\nrespond "x"\n}\n`), [
      `Sluicefile:2:1: ${nameOf(line)} has no effect: the site has no ${without}`,
    ]);
    assert.deepEqual(warnings(`a.test {\nhandle /x {\n${line}\nrespond "x"\n}\nreverse_proxy 10.0.0.1:80\n}\n`), [
      `Sluicefile:3:1: ${nameOf(line)} has no effect: the handle and its site have no ${without}`,
    ]);
  });

  test(`${line} is none where a handle forwards, or a site for its handle`, () => {
    for (const text of [
      `a.test {\n${line}\nreverse_proxy 10.0.0.1:80\n}\n`,
      `a.test {\n${line}\nrespond "x"\nhandle /x {\nreverse_proxy 10.0.0.1:80\n}\n}\n`,
      `a.test {\nreverse_proxy 10.0.0.1:80\nhandle /x {\n${line}\n}\n}\n`,
      `a.test {\n@m path /y\nreverse_proxy 10.0.0.1:80\nhandle /x* {\n${line}\nrespond @m "x"\n}\npath_case sensitive\n}\n`,
      `a.test {\n${line}\nsplit 1 {\nreverse_proxy 10.0.0.1:80\n}\nsplit 1 {\nreverse_proxy 10.0.0.2:80\n}\n}\n`,
      // A snippet may be for several kinds of sites.
      `(common) {\n${line}\n}\na.test {\nimport common\nrespond "x"\n}\n`,
    ])
      assert.deepEqual(warnings(text), [], text);
  });
}

test('rewrite and uri also change which file is served, and cache does nothing about files', () => {
  const site = (line: string): string => `a.test {\nroot /srv\n${line}\nfile_server\n}\n`;
  for (const line of PATHS) assert.deepEqual(warnings(site(line)), []);
  assert.deepEqual(warnings(site('cache 1m')), ['Sluicefile:3:1: cache has no effect: the site has no reverse_proxy']);
});

test('error pages with which a client could choose any file that is served cause a warning', () => {
  const warned = (lines: string, domains = 'a.test') =>
    warnings(`${domains} {\nroot /srv/www\n file_server\n handle_errors {\n ${lines}\n file_server\n }\n}\n`);
  for (const lines of [
    'try_files {path} /404.html',
    'rewrite {path}',
    'root /srv\n rewrite /www/{query.page}.html',
    'rewrite {path}index.html',
  ])
    assert.match(warned(lines).join('\n'), /^Sluicefile:4:2: handle_errors never shows .*: a client could choose any file/, lines);
  for (const lines of ['rewrite /{err.status_code}.html', 'root /srv/errors\n rewrite {path}.html', 'rewrite /{path.0}/404.html'])
    assert.deepEqual(warned(lines), [], lines);
  assert.deepEqual(warned('rewrite /{host}.html', 'a.test, *.b.test'), []);
  assert.match(warned('rewrite /{host}{path}').join('\n'), /never shows/);
});

test('an error page is a warning if those before it are for all of its statuses', () => {
  const pageFor = (statuses: string, more = '') => `handle_errors ${statuses} {\nrespond "x"${more}\n}\n`;
  const of = (...pages: string[]) => warnings(`a.test {\nreverse_proxy 10.0.0.1:80\n${pages.join('')}}\n`);
  const unused = [/^Sluicefile:\d+:1: this handle_errors is never used: others for its statuses come before it; move it up$/];
  for (const [pages, expected] of [
    [[pageFor(''), pageFor('500')], unused],
    [[pageFor('404 5xx'), pageFor('503')], unused],
    [[pageFor('4xx'), pageFor('5xx'), pageFor('')], unused],
    [[pageFor('404'), pageFor('4xx'), pageFor('')], []],
    [[pageFor(''), pageFor('500', '\nintercept')], []],
    [[pageFor('', '\nintercept'), pageFor('500', '\nintercept')], unused],
  ] as const) {
    const found = of(...pages);
    assert.equal(found.length, expected.length, pages.join(''));
    for (const [at, warning] of found.entries()) assert.match(warning, expected[at] ?? /^$/);
  }
  const imported = `(errors) {\n${pageFor('404')}}\na.test {\nreverse_proxy 10.0.0.1:80\n${pageFor('')}import errors\n}\n`;
  assert.deepEqual(warnings(imported), []);
});

test("a site's own response is a warning if a handle takes all other requests and every block has its own", () => {
  const upstream = 'reverse_proxy 10.0.0.1:80';
  for (const [lines, expected] of [
    [`handle {\n${upstream}\n}\nrespond 404`, ['5:1: respond has no effect: the handle for all paths in line 2']],
    [
      `respond "x"\nhandle /a {\n${upstream}\n}\nhandle /* {\nrespond "y"\n}`,
      ['2:1: respond has no effect: the handle for all paths in line 6'],
    ],
    [`${upstream}\nhandle {\nrespond "y"\n}`, ['2:1: reverse_proxy has no effect: the handle for all paths in line 3']],
    [`handle /a/* {\n${upstream}\n}\nrespond 404`, []],
    [`${upstream}\nhandle /a {\nheader X-A b\n}\nhandle {\nrespond "x"\n}\npath_case sensitive`, []],
    [`${upstream}\nhandle {\nheader X-A b\n}`, []],
    [`@m method POST\nrespond @m 405\nhandle {\n${upstream}\n}`, []],
    [`@m method POST\nhandle @m {\n${upstream}\n}\nrespond 404`, []],
  ] as const)
    assert.deepEqual(
      warnings(`a.test {\n${lines}\n}\n`),
      expected.map((text) => `Sluicefile:${text} takes every request that no other one does`),
    );
  assert.deepEqual(warnings(`(end) {\nrespond 404\n}\na.test {\nhandle {\n${upstream}\n}\nimport end\n}\n`), []);
});
