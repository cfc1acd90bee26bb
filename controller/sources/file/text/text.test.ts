import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectDiagnostics, formatDiagnostic } from '../diagnostics/diagnostics.ts';
import { readText } from './text.ts';

function read(bytes: Buffer): { text: string | null; errors: string[] } {
  const report = collectDiagnostics('Sluicefile');
  const text = readText(bytes, 'f', report);
  return { text, errors: report.errors().map(formatDiagnostic) };
}

test('a byte order mark is not part of the text', () => {
  assert.deepEqual(read(Buffer.from('\ufeffa\n')), { text: 'a\n', errors: [] });
});

test('an invalid byte is reported with its line and its column in characters', () => {
  const bytes = Buffer.concat([Buffer.from('ok\né😀'), Buffer.from([0xff]), Buffer.from(' x\n'), Buffer.from([0xc3, 0x28])]);
  assert.deepEqual(read(bytes).errors, [
    'f:2:3: the byte 0xff is not UTF-8; save the file as UTF-8',
    'f:3:1: the byte 0xc3 is not UTF-8; save the file as UTF-8',
  ]);
});

test('the column of an invalid byte does not count a byte order mark', () => {
  assert.deepEqual(read(Buffer.concat([Buffer.from('\ufeffab'), Buffer.from([0x80])])).errors, [
    'f:1:3: the byte 0x80 is not UTF-8; save the file as UTF-8',
  ]);
});

test('a replacement character in the file is valid, and an invalid byte after it is found', () => {
  assert.deepEqual(read(Buffer.from('\ufffd')).errors, []);
  const bytes = Buffer.concat([Buffer.from('\ufffd'), Buffer.from([0xfe])]);
  assert.deepEqual(read(bytes).errors, ['f:1:2: the byte 0xfe is not UTF-8; save the file as UTF-8']);
});

test('UTF-16 is reported as such and not read further', () => {
  for (const bytes of [Buffer.from('\ufeffa {', 'utf16le'), Buffer.from('\ufeffa {', 'utf16le').swap16()])
    assert.deepEqual(read(bytes), { text: null, errors: ['f:1:1: the file is UTF-16; save it as UTF-8'] });
});

test('control characters and lone carriage returns are reported once per line; tabs and CRLF are valid', () => {
  assert.deepEqual(read(Buffer.from('\ta\r\nb\r\n')).errors, []);
  assert.deepEqual(read(Buffer.from('a\0\0\nbb\rc\n\n\u007f')).errors, [
    'f:1:2: the control character U+0000 is not allowed; delete it',
    'f:2:3: a carriage return without a line feed is not allowed; delete it',
    'f:4:1: the control character U+007F is not allowed; delete it',
  ]);
});
