import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoggedFields } from './logged-fields.ts';

const fields = new LoggedFields();
const loggedFields = (lines: string): string => fields.json(lines);

const logged = (...lines: string[]): unknown => JSON.parse(loggedFields(lines.map((line) => `${line}\r\n`).join('')));

test('fields have the usual capitals and a list of values, and Host is left out', () => {
  assert.deepEqual(logged('host: a', 'user-agent: x', 'X-REQUEST-id: 1', 'sec-ch-ua: "y"', 'empty: '), {
    'User-Agent': ['x'],
    'X-Request-Id': ['1'],
    'Sec-Ch-Ua': ['"y"'],
    Empty: [''],
  });
});

test('a name that is repeated in any spelling has one member', () => {
  const long = 'x-'.repeat(40);
  assert.deepEqual(logged('X-A: 1', 'b: 2', 'x-a: 3', 'Cookie: s', 'cookie: t', `${long}a: 1`, `${long}A: 2`), {
    'X-A': ['1', '3'],
    B: ['2'],
    Cookie: ['REDACTED', 'REDACTED'],
    [`${'X-'.repeat(40)}A`]: ['1', '2'],
  });
});

test('secrets are replaced by name, and in URLs that a value contains', () => {
  const fields = [
    'Authorization: Basic s',
    'X-Api-Key: s',
    'Referer: https://u:s@a/?token=s&b=1',
    'Link: </x?sig=s>; rel=next',
    'Set-Cookie: s',
  ];
  const text = loggedFields(fields.map((line) => `${line}\r\n`).join(''));
  assert.doesNotMatch(text, /"s|=s|:s/);
  assert.deepEqual(JSON.parse(text).Referer, ['https://REDACTED@a/?token=REDACTED&b=1']);
});

test('no bytes of a value can leave its string or control a terminal', () => {
  const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter((byte) => byte !== '\r' && byte !== '\n');
  for (const byte of bytes) {
    const json = loggedFields(`A: 1\r\nX-Byte: a${byte}b\r\nZ: 2\r\n`);
    assert.match(json, /^[ -~]*$/);
    const value = byte < '\x80' ? byte : '\ufffd';
    assert.deepEqual(JSON.parse(json), { A: ['1'], 'X-Byte': [`a${value}b`], Z: ['2'] });
  }
  const utf8 = (text: string) => Buffer.from(text).toString('latin1');
  assert.deepEqual(logged(`X: ${utf8('日本 \u009b31m \u202e')}`), { X: ['日本 \u009b31m \u202e'] });
});

test('a thousand different clients and names are rendered like the first', () => {
  for (let nth = 0; nth < 5_000; nth++) assert.deepEqual(logged(`x-${nth}: ${nth}`, 'a: "q"'), { [`X-${nth}`]: [`${nth}`], A: ['"q"'] });
});

test('more than 64 KB of fields are left out', () => assert.deepEqual(logged(`x: ${'y'.repeat(70_000)}`), {}));
