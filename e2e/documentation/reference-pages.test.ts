import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PAGES } from '../reference/pages.ts';
import { REPOSITORY } from '../testing/process.ts';

for (const [name, make] of Object.entries(PAGES))
  test(`${name} matches the code`, async () => {
    assert.equal(readFileSync(join(REPOSITORY, name), 'utf8'), await make(), 'sh scripts/reference.sh regenerates it');
  });
