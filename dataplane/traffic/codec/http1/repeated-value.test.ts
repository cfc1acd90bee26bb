import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RepeatedValue } from './repeated-value.ts';

test('a value is the one in the message, not one of an earlier message', () => {
  const values = new RepeatedValue();
  const messages = [
    'a.test',
    'a.test',
    'a.tesT',
    'a.test',
    'a.tes',
    'b.test',
    '',
    'a.test',
    'caf\u00e9',
    'caf\u00e9',
    'x'.repeat(300),
    'a.test',
  ];
  for (const value of messages) {
    const raw = `Host: ${value}\r\nAccept: a.test\r\n`;
    assert.equal(values.find(raw, 6, 6 + value.length), value);
  }
});
