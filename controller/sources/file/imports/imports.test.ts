import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { accepted, refused } from '../../../../shared/values/parsed.ts';
import { type Compiled, compileBytes, compileFile } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';
import type { Files } from '../text/files.ts';

const root = mkdtempSync(join(tmpdir(), 'sluicefile-imports-'));
after(() => rmSync(root, { recursive: true }));

/** A directory of files, and what its `Sluicefile` compiles to, with paths relative to that directory. */
async function compileIn(name: string, files: Readonly<Record<string, string>>) {
  const directory = join(root, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, dirname(path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  const compiled = await compileFile(join(directory, 'Sluicefile'), {});
  const short = (text: string) => text.replaceAll(`${directory}/`, '').replaceAll(directory, '.');
  return {
    domains: compiled.ok ? compiled.routes.map(({ domain }) => domain) : [],
    problems: (compiled.ok ? compiled.warnings : compiled.diagnostics).map((problem) => short(formatDiagnostic(problem))),
    inputs: compiled.inputs.map(short),
  };
}

const site = (domain: string): string => `${domain} { respond 200 }\n`;

test('a pattern matches files in order of their names, without directories and names that begin with a dot', async () => {
  const { domains, problems } = await compileIn('order', {
    Sluicefile: 'import sites/*\n',
    'sites/b': site('b.example'),
    'sites/B': site('upper.example'),
    'sites/a10': site('a10.example'),
    'sites/a9': site('a9.example'),
    'sites/.swp': 'half a fi',
    'sites/deeper/c': site('c.example'),
  });
  assert.deepEqual([domains, problems], [['upper.example', 'a10.example', 'a9.example', 'b.example'], []]);
});

test('wildcards may be in several parts of a path, and only a dot matches a leading dot', async () => {
  const files = { 'a/x/one.conf': site('a.example'), 'b/x/two.conf': site('b.example'), 'b/y/two.conf': 'no', 'b/x/t.txt': 'no', c: 'no' };
  const { domains } = await compileIn('several', { Sluicefile: 'import ?/x/*o*.conf\n', ...files });
  assert.deepEqual(domains, ['a.example', 'b.example']);
  assert.deepEqual((await compileIn('several', { Sluicefile: 'import .*/x\n', '.d/x': site('d.example') })).domains, ['d.example']);
});

test('a path is relative to the file it is in, even if that is a link', async () => {
  mkdirSync(join(root, 'linked/..data'), { recursive: true });
  writeFileSync(join(root, 'linked/..data/sites'), 'import more/x\n');
  symlinkSync('..data/sites', join(root, 'linked/sites'));
  assert.deepEqual((await compileIn('linked', { Sluicefile: 'import sites\n', 'more/x': site('x.example') })).domains, ['x.example']);
});

test('a pattern that matches nothing causes a warning', async () => {
  mkdirSync(join(root, 'nothing/sites'), { recursive: true });
  assert.deepEqual((await compileIn('nothing', { Sluicefile: `import sites/*\n${site('a.example')}` })).problems, [
    'Sluicefile:1:8: import "sites/*" matches no file',
  ]);
});

test('each unusable file matched by a pattern is reported', async () => {
  const { problems } = await compileIn('unusable', {
    Sluicefile: 'import sites/*\n',
    'sites/a': '',
    'sites/b': site('b.example'),
    'sites/c': ' \n',
  });
  assert.deepEqual(problems, [
    'sites/a:1:1: the file is empty: write what it is for, or a comment if nothing is meant (imported by Sluicefile:1:1)',
    'sites/c:1:1: the file is empty: write what it is for, or a comment if nothing is meant (imported by Sluicefile:1:1)',
  ]);
});

test('a file matched by a pattern that can’t be looked up is reported', async () => {
  mkdirSync(join(root, 'looping/sites'), { recursive: true });
  symlinkSync('a', join(root, 'looping/sites/a'));
  const { problems } = await compileIn('looping', { Sluicefile: 'import sites/*\n', 'sites/b': site('b.example') });
  assert.deepEqual(problems, ['sites/a:1:1: its symbolic links form a loop (imported by Sluicefile:1:1)']);
});

test('inputs are all files and directories that were looked for, whether or not they exist', async () => {
  const { inputs, problems } = await compileIn('inputs', {
    Sluicefile: 'import sites/*\nimport none\n',
    'sites/a': 'import ../sub/b\n',
    'sub/b': '#',
  });
  assert.deepEqual(inputs, ['Sluicefile', 'sites', 'sites/a', 'sub/b', 'none']);
  assert.equal(problems.length, 1);
});

test('a file that is not regular is rejected at once, even a pipe without a writer', async () => {
  mkdirSync(join(root, 'pipes/sites'), { recursive: true });
  execFileSync('mkfifo', [join(root, 'pipes/pipe')]);
  assert.deepEqual((await compileIn('pipes', { Sluicefile: 'import ./pipe\nimport ./sites\n' })).problems, [
    'Sluicefile:1:8: import "./pipe": pipe: it is not a regular file',
    'Sluicefile:2:8: import "./sites": sites: it is a directory: name the files in it, as in sites/*',
  ]);
});

test('invalid bytes and control characters of an imported file are reported in that file', async () => {
  assert.deepEqual((await compileIn('bytes', { Sluicefile: 'import x.conf\n', 'x.conf': '# \u0001\n' })).problems, [
    'x.conf:1:3: the control character U+0001 is not allowed; delete it',
  ]);
});

/** Compiles files that are only in memory. */
function compileMemory(files: Readonly<Record<string, string>>): Compiled {
  const inMemory: Files = {
    read: (path) => (Object.hasOwn(files, path) ? accepted(Buffer.from(files[path] ?? '')) : refused('there is no such file')),
    glob: () => refused('not here'),
  };
  return compileBytes(Buffer.from(files.Sluicefile ?? ''), 'Sluicefile', {}, inMemory);
}

const errorsOf = (compiled: Compiled): string[] => (compiled.ok ? [] : compiled.diagnostics.map(formatDiagnostic));

test('lines may be imported at any depth: in a matcher, and in a block of a line in a block', () => {
  const auth = (lines: string) => `forward_auth 127.0.0.1:7 {\nuri /auth\n${lines}\n}`;
  for (const [lines, around] of [
    ['remote_ip 192.0.2.1\npath /x', (inner: string) => `@office {\n${inner}\n}\nrespond @office 404`],
    ['remote_ip 192.0.2.1\npath /x', (inner: string) => `@office {\nnot {\n${inner}\n}\n}\nrespond @office 404`],
    ['Remote-User\nRemote-Groups>X-Groups', (inner: string) => auth(`copy_headers {\n${inner}\n}`)],
    ['redir * /login', (inner: string) => auth(`@no status 401\nhandle_response @no {\n${inner}\n}`)],
    ['header Content-Type text/*\nstatus 2xx', (inner: string) => `encode {\nmatch {\n${inner}\n}\n}`],
    ['status 2xx', (inner: string) => `handle /x {\nencode {\nmatch {\n${inner}\n}\n}\n}`],
  ] as const) {
    const routes = (snippet: string, written: string) => {
      const compiled = compileBytes(
        Buffer.from(`${snippet}a.example {\nreverse_proxy 127.0.0.1:1\n${around(written)}\n}\n`),
        'Sluicefile',
        {},
      );
      return compiled.ok ? compiled.routes.map(({ origin, ...route }) => route) : compiled.diagnostics.map(formatDiagnostic);
    };
    assert.deepEqual(routes(`(shared) {\n${lines}\n}\n`, 'import shared'), routes('', lines));
  }
});

test('imports nest up to 32 deep', () => {
  const chain = (length: number) => {
    const links = Array.from({ length }, (_, n) => [`f${n}`, n === length - 1 ? site('a.example') : `import f${n + 1}\n`]);
    return compileMemory({ Sluicefile: 'import f0\n', ...Object.fromEntries(links) });
  };
  assert.deepEqual(errorsOf(chain(32)), []);
  assert.match(
    errorsOf(chain(33)).join('\n'),
    /^f31:1:8: imports are nested more than 32 deep \(imported by f30:1:1, .* by Sluicefile:1:1\)$/,
  );
});

test('a few lines that expand to millions end quickly with one error', () => {
  const doubling = Array.from({ length: 30 }, (_, n) => `(s${n + 1}) {\n  import s${n}\n  import s${n}\n}\n`).join('');
  const errors = errorsOf(compileMemory({ Sluicefile: `(s0) { respond 200 }\n${doubling}a.example {\n  import s30\n}\n` }));
  assert.equal(errors.filter((error) => error.includes('too much is imported: the limits are 200000 imports and 64 MB in all')).length, 1);
  const large = `# ${'x'.repeat(1_000_000)}\n`;
  const sites = Array.from({ length: 70 }, (_, n) => `a${n}.example {\n  import large.x\n  respond 200\n}\n`).join('');
  assert.match(errorsOf(compileMemory({ Sluicefile: sites, 'large.x': large })).join('\n'), /^Sluicefile:\d+:10: too much is imported/);
});

test('an error in a text imported several times is one problem, unless it differs by argument', () => {
  const snippet = '(s) {\n  respod 200\n  rate_limit {args[0]}\n  respond 200\n}\n';
  const sites = ['5', '6/s', '7'].map((rate, n) => `a${n}.example {\n  import s ${rate}\n}\n`).join('');
  assert.deepEqual(errorsOf(compileMemory({ Sluicefile: snippet + sites })), [
    'Sluicefile:2:3: unknown directive "respod" (did you mean "respond"?) (imported by Sluicefile:7:3)',
    'Sluicefile:3:14: rate_limit "5": write a rate as <n>/s, <n>/m or <n>/h, for example 10/s (imported by Sluicefile:7:3)',
    'Sluicefile:3:14: rate_limit "7": write a rate as <n>/s, <n>/m or <n>/h, for example 10/s (imported by Sluicefile:13:3)',
  ]);
});

test('the value of an argument is one word and is not resolved again', () => {
  const compiled = compileMemory({
    Sluicefile: '(s) {\n  header X-A {args[0]}\n  respond "{args[1]}" 404\n}\na.example {\n  import s "two words {" `{args[0]} "q"`\n}\n',
  });
  assert.deepEqual(errorsOf(compiled), []);
  assert.ok(compiled.ok);
  const [route] = compiled.routes;
  assert.deepEqual([route?.headers, route?.respond], [[{ name: 'X-A', value: 'two words {' }], { status: 404, body: '{args[0]} "q"' }]);
});

test('a range of arguments is replaced by the words in that range', () => {
  const snippet = '(s) {\n  reverse_proxy {args[1:3]}\n}\n(t) {\n  reverse_proxy {args[2:]}\n}\n';
  const compiled = compileMemory({
    Sluicefile: `${snippet}a.example {\n  import s 0 b:1 c:2 d:3\n}\nb.example {\n  import t 0 b:1 c:2 d:3\n}\n`,
  });
  assert.deepEqual(errorsOf(compiled), []);
  assert.ok(compiled.ok);
  assert.deepEqual(
    compiled.routes.map(({ upstreams }) => upstreams.map(({ address }) => address)),
    [
      ['b:1', 'c:2'],
      ['c:2', 'd:3'],
    ],
  );
});

test('a line of {args[:]} becomes a directive with its arguments, or nothing', () => {
  const compiled = compileMemory({
    Sluicefile: '(s) {\n  {args[:]}\n}\na.example {\n  import s\n  import s rate_limit 5/s\n  import s respond ok\n}\n',
  });
  assert.deepEqual(errorsOf(compiled), []);
  assert.ok(compiled.ok && compiled.routes[0]?.rate_limit_rps === 5);
});

test('valid globals of a file are used regardless of other errors in it', () => {
  const globalsOf = (text: string) => compileMemory({ Sluicefile: text, contact: 'email a@b\n', bad: 'email nobody\n' }).globals;
  assert.deepEqual(globalsOf('{\n  http_port 8080\n  import contact\n}\na.example { nonsense }\n'), { http_port: 8080, email: 'a@b' });
  assert.deepEqual(globalsOf('(s) { tls }\n{\n  http_port 8080\n}\na.example {\n'), { http_port: 8080 });
  for (const wrong of ['http_port 8080\n  nonsense', 'http_port 8080\n  bind "', 'http_port {$NOT_SET}', 'import bad', 'http_port 1 x'])
    assert.equal(globalsOf(`{\n  ${wrong}\n}\na.example { nonsense }\n`), null, wrong);
  assert.equal(globalsOf('{\n  http_port 8080\n'), null);
  assert.equal(globalsOf('a.example { nonsense }\n'), null);
});

test('arguments that grow with each import are an error, before they fill the memory', async () => {
  const levels = Array.from({ length: 30 }, (_, level) => level + 1);
  const growing = (argument: string) =>
    `(s0) {\n  respond 200\n}\n${levels.map((level) => `(s${level}) {\n  import s${level - 1} ${argument}\n}\n`).join('')}a.example {\n  import s30 xxxx yyyy\n}\n`;
  for (const argument of [`"${'{args[0]}'.repeat(20)}"`, '{args[:]} {args[:]}']) {
    const { problems } = await compileIn('growing', { Sluicefile: growing(argument) });
    assert.match(problems.join('\n'), /^Sluicefile:\d+:\d+: too much is inserted here: .* 64 MB; insert fewer or shorter ones/);
  }
  const many = 'a.example {\n  header X-A {args[:]}\n}\n';
  const { problems } = await compileIn('many', { Sluicefile: `import one ${'x '.repeat(200_000)}\n`, one: many });
  assert.match(problems.join('\n'), /^one:2:14: header "…" has several values/m);
});

test('a variable that is inserted again and again is an error, before it fills the memory', () => {
  const compiled = compileBytes(Buffer.from(`a.example {\n  respond "${'{$LONG}'.repeat(6_000)}"\n}\n`), 'f', {
    LONG: 'x'.repeat(100_000),
  });
  assert.ok(!compiled.ok);
  assert.match(formatDiagnostic(compiled.diagnostics[0] ?? assert.fail()), /^f:2:\d+: too much is inserted here/);
});

test('an import whose size is not known in advance is read up to the limit', async (t) => {
  // It claims to be empty, and has hundreds of gigabytes.
  const endless = '/proc/self/pagemap';
  if (!existsSync(endless)) return t.skip('there is no such file here');
  assert.deepEqual((await compileIn('endless', { Sluicefile: `import ${endless}\n` })).problems, [
    `Sluicefile:1:8: import "${endless}": it is larger than 64 MB, so it is not a config file`,
  ]);
});
