import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listingHtml } from './listing-page.ts';

test('a file from a time that no date can express does not keep the directory from being listed', () => {
  const entry = (name: string, modified: number) => ({ name, isDirectory: false, size: 1, modified });
  const entries = [entry('late', 99_999_999_999_999_000), entry('early', -99_999_999_999_999_000), entry('usual', 86_400_000)];
  const html = listingHtml({ names: [], hasParent: false, entries, page: 1, pages: 1, total: 3, complete: true });
  for (const { name } of entries) assert.ok(html.includes(`<a href="./${name}">${name}</a>`));
  assert.deepEqual(html.match(/<time[^>]*>[^<]*/g), ['<time datetime="1970-01-02T00:00:00.000Z">1970-01-02 00:00']);
});
