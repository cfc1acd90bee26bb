import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepted, refused } from '../../../../shared/values/parsed.ts';
import { compileBytes } from '../compile.ts';
import type { Files } from '../text/files.ts';
import { formatDiagnostic } from './diagnostics.ts';

/** The messages for a file with these imports and this environment. */
function messagesOf(
  text: string,
  { env = {}, imported = {} }: { env?: Record<string, string>; imported?: Record<string, string> },
): string[] {
  const files: Files = {
    read: (path) => (imported[path] === undefined ? refused('there is no such file') : accepted(Buffer.from(imported[path]))),
    glob: () => accepted(Object.keys(imported)),
  };
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', env, files);
  return (compiled.ok ? compiled.warnings : compiled.diagnostics).map(formatDiagnostic);
}

/** Lines that are wrong, or may be, depending on the variable. */
const LINES = [
  '{$X}',
  '{$X} a b',
  'rate_limit {$X}',
  'rate_limit 1/s {$X}',
  'reverse_proxy {$X}',
  'reverse_proxy http://a:1/{$X}',
  'reverse_proxy {$X}/a {$X}/a',
  'respond {$X}',
  'respond "{$X}" {$X}',
  'redir {$X} /a',
  'redir /a "{$X} {x}" 301',
  'redir /a /a{$X} {$X}',
  'header {$X} a',
  'header X-A {$X} {$X}',
  'header "{$X}:"',
  'hold {$X}',
  'tls {$X}',
  'tls {$X} {$X}',
  'transport {$X}',
  'transport {\n    {$X}\n  }',
  'transport {\n    dial_timeout {$X}\n  }',
  'basic_auth {\n    {$X} {$X}\n  }',
  'basic_auth {\n    alice {$X}\n  }',
  'basic_auth "{$X}\\n" {\n    alice x\n  }',
  'handle {$X} {\n    respond a\n  }',
  'handle_path /{$X} {\n    respond a\n  }',
  '@{$X} path /a',
  '@a {$X} b',
  '@a path {$X}',
  '@a remote_ip {$X}',
  '@a header {$X} {$X}',
  'handle @{$X} {\n    respond a\n  }',
  'import {$X}',
  'import /files/{$X}',
  'import snippet {$X}',
  'import snippet "a {$X} b"',
  'rate_limit {args[{$X}]}',
] as const;

const VALUES = [
  'hunter2-Secret.example',
  'TopSecret',
  'sk_live_51/top+secret==',
  'user:s3cr3t@db.example:5432',
  'https://user:s3cr3t@db.example/x',
  's3cr3t,t0ps3cr3t',
  's3cr3t words of t0ps3cr3t',
  's3cr3t\nline',
  'gehéim-s3cr3t',
  `s3cr3t${'x'.repeat(9_000)}`,
  '/s3cr3t/path',
  '{s3cr3t}',
  '$&s3cr3t$1',
];
/** The parts of a value that must not be repeated. */
const TELLING = /secret|s3cr3t|t0p|hunter|gehéim|sk_live|5432|xn--/i;

for (const value of VALUES)
  test(`no message repeats the value of a variable: ${JSON.stringify(value.slice(0, 40))}`, () => {
    for (const line of LINES)
      for (const text of [
        `(snippet) {\n  rate_limit {args[0]}\n  header {args[0]}\n}\na.example {\n  ${line}\n}\n`,
        `{$X} {\n  respond a\n}\nb.example, {$X} {\n  ${line}\n}\n`,
        `{\n  email {$X}\n  http_port {$X}\n  bind {$X}\n  {$X} a\n  trusted_proxies {$X}\n}\n${line}\n`,
      ])
        for (const message of messagesOf(text, { env: { X: value } })) assert.doesNotMatch(message, TELLING, `${line}\n${message}`);
  });

test('a value too short to be searched for is not repeated where it is used', () => {
  for (const [text, message] of [
    ['a.example {\n  rate_limit {$X}\n}\n', 'rate_limit "{$X}": write a rate as <n>/s, <n>/m or <n>/h, for example 10/s'],
    ['a.example {\n  hold {$X}\n}\n', 'hold "{$X}": '],
    ['a.example {\n  respond a {$X}\n}\n', 'respond "{$X}": '],
  ] as const)
    assert.match(messagesOf(text, { env: { X: 'q7' } }).join('\n'), new RegExp(message.replace(/[{}$"<>/]/g, '\\$&')));
});

test('a literal word is repeated, even next to a variable, and so is a default', () => {
  const [first = '', second = ''] = messagesOf('a.example {\n  respond a\n  rate_limit {$A:plenty}\n  hold soon{$B}\n}\n', {
    env: { B: 'er' },
  });
  assert.match(first, /rate_limit "plenty"/);
  assert.match(second, /hold "soon\{\$B\}"/);
});

const SHADOW = 'root:$6$aXc9saLt$h4shh4sh:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n';
const FOREIGN: readonly [what: string, text: string, telling: RegExp][] = [
  ['passwords', SHADOW, /root|aXc9|h4sh|19000|99999|daemon/],
  ['a key', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEF\n-----END PRIVATE KEY-----\n', /BEGIN|PRIVATE|MIIE|hkiG/],
  ['an environment', 'DB_PASSWORD="s3cr3t word"\nexport TOKEN=t0ken{\n', /DB_|s3cr3t|word|TOKEN|t0ken/],
  ['JSON', '{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}\n', /auths|registry|dXNl/],
  [
    'a config of ours',
    'rate_limit s3cr3t\nredir /s3cr3t /{s3cr3t}\nheader s3:cr3t x\nhandle s3cr3t {\n}\n@s3cr3t path\n',
    /s3cr3t|s3:cr3t/,
  ],
  ['sites', 's3cr3t.example {\n  respond a\n}\ns3cr3t.example {\n  handle_path /s3cr3t* {\n  }\n}\nbü-s3cr3t.example {\n}\n', /s3cr3t/],
  ['a snippet', '(s3cr3t) {\n  respond a\n}\n(s3cr3t) {\n}\n(s3/cr3t) {\n}\nimport s3cr3t-nowhere\n', /s3cr3t|s3.cr3t/],
  ['escapes and braces', '"s3cr3t\\q" `s3cr3t\ns3cr3t{x}} "s3cr3t\n{$s3-cr3t} {$S3CR3T_NOT_SET} {args[s3cr3t]}\n', /s3.?cr3t/i],
];

for (const [what, content, telling] of FOREIGN)
  test(`no message repeats the content of an imported file: ${what}`, () => {
    for (const text of [
      'import /f\n',
      'import /f a b\n',
      'import /*\n',
      'a.example {\n  import /f\n}\n',
      '{\n  import /f\n}\n',
      'import /g\n',
    ]) {
      const messages = messagesOf(text, { imported: { '/f': content, '/g': 'import /f\n' } });
      assert.ok(messages.length > 0, text);
      for (const message of messages) assert.doesNotMatch(message, telling, message);
    }
  });

test('an error in an imported file is reported with its position and what was expected', () => {
  assert.deepEqual(messagesOf('a.example {\n  import /f\n}\n', { imported: { '/f': 'rate_limit plenty\nheadr X-A b\n' } }), [
    '/f:1:12: rate_limit "…": write a rate as <n>/s, <n>/m or <n>/h, for example 10/s (imported by Sluicefile:2:3)',
    '/f:2:1: unknown directive "…" (did you mean "header"?) (imported by Sluicefile:2:3)',
  ]);
});
