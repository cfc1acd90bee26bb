import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formDecodedText } from './form-decoded.ts';

/** The same with exceptions. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

test('names and values are decoded as by decodeURIComponent, and returned as they are if that is impossible', () => {
  for (const text of ['', 'a', 'a+b', '%61', '%', '%4', '%zz', '%e2%82%ac', '%E2%82', '%c0%af', '%ed%a0%80', '%f4%90%80%80', '%00+', '+%'])
    assert.equal(formDecodedText(text), decoded(text), text);
  const hex = (byte: number): string => `%${byte.toString(16).padStart(2, '0')}`;
  for (let lead = 0; lead < 256; lead++)
    for (let second = 0; second < 256; second++)
      for (const rest of ['', '%80', '%bf%BF', '%80a', '%80%80%80']) {
        const text = hex(lead) + hex(second) + rest;
        assert.equal(formDecodedText(text), decoded(text), text);
      }
});

test('names that can’t be decoded cost no more than others', () => {
  const costOf = (name: string): number => {
    const times = Array.from({ length: 20 }, () => {
      const before = performance.now();
      for (let nth = 0; nth < 2_000; nth++) formDecodedText(name);
      return performance.now() - before;
    });
    return Math.min(...times);
  };
  const [good, bad] = [costOf('%61'), costOf('%ff')];
  assert.ok(bad < 4 * good, `${bad} instead of ${good} ms`);
});

test('a text as long as any target is decoded', () => {
  const text = '%E2%82%AC'.repeat(2_000);
  assert.equal(formDecodedText(text), '€'.repeat(2_000));
  assert.equal(formDecodedText(`${text}%`), `${text}%`);
});
