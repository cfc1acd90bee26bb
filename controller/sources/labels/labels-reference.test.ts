import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LABEL_PREFIX } from '../../../shared/name.ts';
import { LABELS } from './label-rules.ts';
import { readLabels } from './read-labels.ts';

const reference = readFileSync(new URL('../../../docs/reference/labels.md', import.meta.url), 'utf8');
const rows = [...reference.matchAll(/^\| `([^`]+)` \| `([^`]+)` \| .+ \| `([^`]+)` \|$/gm)].map(
  ([, label = '', form = '', example = '']) => ({
    word: label.slice(LABEL_PREFIX.length).replace('.<Name>', ''),
    form,
    example,
  }),
);

/** `NAME=VALUE` lines as an engine returns them. */
const labelled = (lines: readonly string[]): Record<string, string> =>
  Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));

test('the reference lists exactly the supported labels, each with its form', () => {
  assert.deepEqual(
    rows.map(({ word, form }) => [word, form]),
    [...LABELS].map(([word, { form }]) => [word, form]),
  );
});

test('labels belong to the container or the pool as documented', () => {
  const [, own = ''] = /\n\n((?:(?!\n\n)[^|])+?)\s+are\s+each\s+container's\s+own/.exec(reference) ?? [];
  const words = [...own.matchAll(/`([a-z_]+)`/g)].map(([, word]) => word);
  assert.deepEqual(
    words,
    [...LABELS].filter(([, { perContainer }]) => perContainer).map(([word]) => word),
  );
});

for (const { word, example } of rows)
  test(`the example of ${word} in the reference is valid`, () => {
    const { sites, bad, warnings } = readLabels({ [`${LABEL_PREFIX}domain`]: 'shop.example', ...labelled([example]) });
    assert.ok(example.startsWith(`${LABEL_PREFIX}${word}`), example);
    assert.deepEqual([sites.length, bad, warnings], [1, [], []]);
  });

test('the example with several sites in the reference is read as two sites', () => {
  const [, block = ''] = /```\n(.*?)\n```/s.exec(reference) ?? [];
  const { sites, bad, warnings } = readLabels(labelled(block.split('\n')));
  assert.deepEqual(
    [sites.map(({ site, port }) => [site, port]), bad, warnings],
    [
      [
        [null, 8080],
        ['admin', 9090],
      ],
      [],
      [],
    ],
  );
});

for (const page of ['containers.md', 'from-traefik.md'])
  test(`every label in docs/${page} is supported`, () => {
    const text = readFileSync(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
    const labels = Object.fromEntries(
      [...text.matchAll(/^ +(sluice\.[\w.-]+): "?([^"\n]+)"?$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    const { sites, bad, warnings } = readLabels(labels);
    assert.deepEqual([sites.length, bad, warnings], [1, [], []]);
    for (const [, label = '', value = ''] of text.matchAll(/`(sluice\.[\w.-]+)=([^`]+)`/g)) {
      const read = readLabels({ 'sluice.domain': 'a.example', [label.replace('NAME', 'shop')]: value, 'sluice.shop.domain': 'b.example' });
      assert.deepEqual([read.bad, read.warnings], [[], []], `${label}=${value}`);
    }
  });
