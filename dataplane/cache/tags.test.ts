import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tags } from './tags.ts';

type Entry = { readonly entry: { readonly tags: readonly string[] }; bytes: number };

test('entries are found by their tags regardless of the order in which others are removed, and take what a new index with them would', () => {
  const tags = new Tags<Entry>();
  const kept = new Set<Entry>();
  for (let step = 0; step < 2_000; step++) {
    const gone = [...kept][(step * 7_919) % 97];
    if (gone !== undefined) {
      kept.delete(gone);
      tags.remove(gone, (heir, bytes) => {
        heir.bytes += bytes;
      });
    } else {
      const names = Array.from({ length: step % 5 }, (_, nth) => `${(step * 31 + nth) % 17}`);
      const one: Entry = { entry: { tags: names }, bytes: 0 };
      one.bytes = tags.bytesFor(one.entry);
      tags.add(one);
      kept.add(one);
    }
    const fresh = new Tags<Entry>();
    let expected = 0;
    for (const one of kept) {
      expected += fresh.bytesFor(one.entry);
      fresh.add(one);
    }
    assert.equal(
      [...kept].reduce((sum, { bytes }) => sum + bytes, 0),
      expected,
    );
    const tag = `${step % 17}`;
    assert.deepEqual(new Set(tags.with(tag)), new Set([...kept].filter(({ entry }) => entry.tags.includes(tag))));
  }
});
