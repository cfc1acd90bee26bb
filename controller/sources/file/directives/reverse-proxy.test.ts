import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (upstreams: string) => compileBytes(Buffer.from(`a.example {\n  reverse_proxy ${upstreams}\n}\n`), 'Sluicefile', {});

test('an upstream may be a socket, next to others, with or without TLS', () => {
  for (const [upstreams, tls] of [
    ['unix//run/App.sock unix//run/app.sock 10.0.0.1:80', false],
    ['https://unix//run/App.sock https://unix//run/app.sock https://10.0.0.1:80', true],
  ] as const) {
    const result = compiled(upstreams);
    assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
    const [route] = result.routes;
    assert.equal(route?.tls, tls);
    assert.deepEqual(
      route?.upstreams?.map(({ address }) => address),
      ['unix//run/App.sock', 'unix//run/app.sock', '10.0.0.1:80'],
    );
  }
});

for (const [word, reason] of [
  ['unix:/run/app.sock', /write a socket as unix\/ followed by its absolute path: unix\/\/run\/app\.sock/],
  ['unix/run/app.sock', /write a socket as unix\/ followed by its absolute path/],
  ['unix//run/', /a socket path must name a file/],
  ['unix//run/a.sock unix//run/a.sock', /this upstream is listed twice/],
] as const)
  test(`reverse_proxy ${word} is an error`, () => {
    const result = compiled(word);
    assert.match(result.ok ? 'accepted' : result.diagnostics.map(formatDiagnostic).join('\n'), reason);
  });
