import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const USERS = 'basic_auth {\n root $2b$12$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy\n }';

function warningsOf(lines: string): string[] {
  const compiled = compileBytes(Buffer.from(`a.example {\n${lines}\n reverse_proxy 127.0.0.1:1\n}\n`), 'f', {});
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.diagnostics.map(formatDiagnostic).join('\n'));
  return compiled.warnings.map(formatDiagnostic);
}

test('a case-sensitive guarded path without path_case causes one warning, at the first guard', () => {
  for (const lines of [`handle /admin* {\n ${USERS}\n }`, 'handle /admin {\n respond 403\n }']) {
    assert.match(
      warningsOf(lines).join('\n'),
      /^f:2:1: guarded paths are compared with regard to case: .*write path_case insensitive in the site, else path_case sensitive$/,
    );
    for (const value of ['insensitive', 'sensitive']) assert.deepEqual(warningsOf(`path_case ${value}\n${lines}`), []);
  }
});

test('a guard below an open path causes a warning that says what to write', () => {
  const sure = 'path_case sensitive\n';
  const open =
    /^f:\d+:\d+: \/admin\/\* leaves \/admin open, which it does not match: guard both, or write redir \/admin \/admin\/ 308 in the site$/;
  for (const lines of [
    `handle /admin/* {\n ${USERS}\n }`,
    'handle /admin/* {\n respond 403\n }',
    '@a path /admin/*\nrespond @a 403',
    '@a path /admin/*\nhandle @a {\n respond 403\n }',
    `handle /admin/* {\n ${USERS}\n }\nhandle {\n header X-A b\n }`,
    `handle /admin/* {\n ${USERS}\n }\n@m {\n path /admin\n method POST\n}\nhandle @m {\n header X-A b\n }`,
  ]) {
    const warnings = warningsOf(sure + lines);
    assert.equal(warnings.length, 1, lines);
    assert.match(warnings[0] ?? '', open);
  }
  for (const lines of [
    `redir /admin /admin/ 308\nhandle /admin/* {\n ${USERS}\n }`,
    `handle /admin/* {\n ${USERS}\n }\nhandle /admin {\n respond 404\n }`,
    `handle /admin/* {\n ${USERS}\n }\nhandle /admin {\n header X-A b\n }`,
    `@m {\n path /admin\n header X-Kind hook\n}\nhandle @m {\n header X-A b\n }\nhandle /admin {\n ${USERS}\n }\nhandle /admin/* {\n ${USERS}\n }`,
    `@m {\n path /admin\n header X-Kind hook\n}\nhandle @m {\n header X-A b\n }\nhandle /admin/* {\n ${USERS}\n }\nhandle /admin {\n header X-A b\n }`,
    `handle /admin* {\n ${USERS}\n }`,
    `${USERS}\nhandle /admin/* {\n rate_limit 1/s\n }`,
    '@a path /admin /admin/*\nrespond @a 403',
    'handle /admin/* {\n header X-A b\n }',
    'redir /old/* /new/{remainder} 308',
    'handle /old/* {\n respond 200\n }',
    'handle /api/* {\n rate_limit 1/s\n }',
  ])
    assert.deepEqual(warningsOf(sure + lines), [], lines);
});

test('a password for a single path is a warning if what is below it is open', () => {
  const open = (path: string, below: string) =>
    `f:3:1: ${path} leaves ${below} open, which it does not match: guard both, for example with a matcher`;
  const warned = (lines: string) => warningsOf(`path_case sensitive\n${lines}`);
  const guarded = (path: string) => `handle ${path} {\n ${USERS}\n }`;
  assert.deepEqual(warned(guarded('/admin')), [open('/admin', '/admin/*')]);
  assert.deepEqual(warned(guarded('/admin/')), [open('/admin/', '/admin/*')]);
  assert.deepEqual(warned('handle /a/b {\n ip_filter allow private_ranges\n }'), [open('/a/b', '/a/b/*')]);
  assert.deepEqual(warned(`@a path /admin /b\nhandle @a {\n ${USERS}\n }\nhandle /b/* {\n respond 404\n }`), [
    open('/admin', '/admin/*').replace(':3:', ':4:'),
  ]);
  for (const lines of [
    `@a path /admin /admin/*\nhandle @a {\n ${USERS}\n }`,
    `${guarded('/admin')}\n${guarded('/admin/*')}`,
    `${guarded('/admin')}\nhandle /admin/* {\n header X-A b\n }`,
    `${guarded('/admin')}\n@below path /admin/*\nhandle @below {\n header X-A b\n }`,
    `${guarded('/admin')}\nredir /admin/* /admin 308`,
    guarded('/admin*'),
    guarded('/wp-login.php'),
    guarded('/'),
    `${USERS}\n${guarded('/admin')}`,
    'handle /admin {\n respond 403\n }',
    'handle /login {\n rate_limit 1/s\n }',
  ])
    assert.deepEqual(warned(lines), [], lines);
  const closed = `a.example {\npath_case sensitive\nhandle /metrics {\n${USERS}\nreverse_proxy 127.0.0.1:1\n}\n}\n`;
  const compiled = compileBytes(Buffer.from(closed), 'f', {});
  assert.deepEqual(compiled.ok && compiled.warnings, []);
});

test('path_case is insensitive or sensitive, and allowed only in a site', () => {
  const errorsOf = (text: string): string[] => {
    const compiled = compileBytes(Buffer.from(text), 'f', {});
    return compiled.ok ? [] : compiled.diagnostics.map(formatDiagnostic);
  };
  assert.deepEqual(errorsOf('a.example {\n path_case off\n respond 200\n}'), ['f:2:12: path_case "off": it is insensitive or sensitive']);
  assert.match(
    errorsOf('a.example {\n handle /a {\n path_case insensitive\n respond 200\n }\n}').join('\n'),
    /path_case belongs in a site, not in a handle/,
  );
  const compiled = compileBytes(Buffer.from('a.example {\n path_case insensitive\n respond 200\n}'), 'f', {});
  assert.ok(compiled.ok && compiled.routes[0]?.path_case === 'insensitive');
});
