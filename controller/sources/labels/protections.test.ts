import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protectionOf } from './protections.ts';
import { readLabels } from './read-labels.ts';

for (const label of ['stats', 'web_vitals', 'vitals', 'analitycs', 'shop.stats'])
  test(`an unknown label about analytics, sluice.${label}, does not take its site out of service`, () => {
    assert.equal(protectionOf(label, 'on'), undefined);
    const { sites, bad } = readLabels({ 'sluice.domain': 'a.example', [`sluice.${label}`]: 'on' });
    assert.deepEqual([sites.length, bad], [1, []]);
  });
