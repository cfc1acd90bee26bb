import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GLOBAL_RULES } from '../sites/globals.ts';
import { CADDY_DIRECTIVES, CADDY_GLOBALS } from './caddy-words.ts';
import { SITE_RULES } from './directives.ts';
import { NGINX_DIRECTIVES } from './nginx-words.ts';
import { OTHER_GLOBALS, OTHER_NAMES } from './other-names.ts';

test('every foreign name maps to one of ours, and is not one itself', () => {
  const known = new Set([...SITE_RULES.keys(), 'import']);
  for (const [other, name] of OTHER_NAMES) assert.ok(known.has(name) && !known.has(other), other);
  for (const [other, name] of OTHER_GLOBALS) assert.ok(GLOBAL_RULES.has(name) && !GLOBAL_RULES.has(other), other);
  for (const other of CADDY_GLOBALS.keys()) assert.ok(!GLOBAL_RULES.has(other) && !OTHER_GLOBALS.has(other), other);
  for (const other of NGINX_DIRECTIVES.keys()) assert.ok(!known.has(other) && !OTHER_NAMES.has(other), other);
  for (const other of CADDY_DIRECTIVES.keys()) assert.ok(!known.has(other) && !OTHER_NAMES.has(other), other);
});
