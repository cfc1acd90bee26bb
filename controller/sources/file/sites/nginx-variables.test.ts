import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';

/** The warnings for a site with these lines, as `line: message`. */
function warningsFor(...lines: string[]): string[] {
  const text = `a.example {\n${lines.join('\n')}\n}\n`;
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', {});
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.diagnostics.map(({ message }) => message).join('\n'));
  return compiled.warnings.map(({ place, message }) => `${place?.line}: ${message}`);
}

test('a variable of nginx in a value is a warning with the placeholder to write', () => {
  assert.deepEqual(
    warningsFor(
      'redir /a https://$host$request_uri',
      'redir /b/* /c/$1 301',
      'header X-A "from $remote_addr"',
      'request_header X-B $http_x_api_key',
      'rewrite /d /e?$args',
      'reverse_proxy 10.0.0.1:80 {',
      'header_up X-C $cookie_id',
      '}',
    ),
    [
      '2: "$host" is plain text here: write {host}',
      '3: "$1" is plain text here: write {remainder}, which is what * matched',
      '4: "$remote_addr" is plain text here: write {client_ip}',
      '5: "$http_x_api_key" is plain text here: write {header.x-api-key}',
      '6: "$args" is plain text here: write {query}',
      '8: "$cookie_id" is plain text here: write {cookie.id}',
    ],
  );
});

test('other dollars are no variables, nor is what stands in backquotes, nor the groups of an expression', () => {
  const lines = ['respond "for $5 and $hostess"', 'header X-A `$host`', 'uri path_regexp ^/a(.*) /b$1', 'rewrite /b /c$'];
  assert.deepEqual(
    warningsFor(...lines).filter((line) => line.includes('plain text')),
    [],
  );
});
