import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapedBraces, faultOfTemplate, isConstant, MAX_PLACEHOLDERS, type parseTemplate, templateParts } from './template.ts';

const show = (text: string, scope: Parameters<typeof parseTemplate>[1] = 'request') =>
  templateParts(text, scope).map((part) => ('text' in part ? part.text : [part.placeholder.name, part.placeholder.argument]));

test('short and long names are the same placeholder', () => {
  for (const [short, long] of [
    ['{host}', '{http.request.host}'],
    ['{remainder}', '{http.request.uri.path.remainder}'],
    ['{header.X-Id}', '{http.request.header.x-ID}'],
    ['{query.a}', '{http.request.uri.query.a}'],
    ['{labels.1}', '{http.request.host.labels.1}'],
    ['{path.0}', '{http.request.uri.path.0}'],
    ['{cookie.a}', '{http.request.cookie.a}'],
    ['{client_ip}', '{http.vars.client_ip}'],
    ['{request_id}', '{http.request.uuid}'],
    ['{?query}', '{http.request.uri.prefixed_query}'],
  ] as const)
    assert.deepEqual(show(short), show(long), short);
});

test('text around placeholders is kept, and braces around anything else are literal', () => {
  assert.deepEqual(show('https://{host}/x{path}?'), ['https://', ['http.request.host', ''], '/x', ['http.request.uri.path', ''], '?']);
  for (const text of [
    '',
    'plain',
    '{"a": 1, "b": {}}',
    'body { color: red }',
    'a{color:red}',
    '{}',
    '{ host }',
    '{0}',
    '{$X}',
    '}{',
    '{host',
  ])
    assert.deepEqual(show(text), [text]);
});

test('a backslash before a brace makes it literal, and elsewhere is literal itself', () => {
  assert.deepEqual(show('\\{host}'), ['{host}']);
  assert.deepEqual(show('\\{host\\}'), ['{host}']);
  assert.deepEqual(show('\\\\{host}'), ['\\{host}']);
  assert.deepEqual(show('C:\\dir {host}'), ['C:\\dir ', ['http.request.host', '']]);
  for (const text of ['{host}', '\\{host}', '\\\\{x}{', 'a{b}c', '}\\']) assert.deepEqual(show(escapedBraces(text)), [text], text);
  assert.ok(isConstant(templateParts('\\{host}', 'request')));
});

for (const [text, fault] of [
  ['{hots}', '"{hots}" is not a placeholder (did you mean "host"?)'],
  ['{env.HOME}', '"{env.HOME}" is not a placeholder: write {$NAME} for a variable of the environment'],
  ['{labels.x}', '"{labels.x}" is not a placeholder; use one of'],
  ['{header.}', '"{header.}" is not a placeholder (did you mean "header'],
  ['{resp.status_code}', '"{resp.status_code}" belongs to a response'],
  ['{upstream_hostport}', '"{upstream_hostport}" is known only when a target is chosen'],
  ['{host}'.repeat(MAX_PLACEHOLDERS + 1), '"{host}" is one too many'],
] as const)
  test(`rejects ${text.slice(0, 30)}`, () => {
    const actual = faultOfTemplate(text, 'request') ?? '';
    assert.ok(actual.startsWith(fault.replace(' (did you mean "header', '')), actual);
  });

test('values of responses and targets exist in their scope', () => {
  assert.deepEqual(show('{resp.header.ETag}', 'answer'), [['http.response.header.', 'etag']]);
  assert.deepEqual(show('{err.status_code}', 'answer'), [['http.response.status_code', '']]);
  assert.deepEqual(show('{upstream_hostport}', 'target'), [['http.reverse_proxy.upstream.hostport', '']]);
});
