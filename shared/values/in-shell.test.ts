import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { inShell } from './in-shell.ts';

test('a shell reads a word of a command that a message names as it is meant', () => {
  const words = ['a.test/api/', '*.a.test', '/x;id', '/$(id)/`id`', "/';id;'", 'my sites/Sluicefile', '[2001:db8::7]', '~', ''];
  const read = execFileSync('sh', ['-c', `printf '%s\\n' ${words.map(inShell).join(' ')}`], { encoding: 'utf8' });
  assert.deepEqual(read.split('\n').slice(0, -1), words);
});

test('an ordinary word stays as it is', () => {
  for (const word of ['a.test', 'a.test:8443/a/b.html', '/etc/sluice/Sluicefile', '10.0.0.0/8']) assert.equal(inShell(word), word);
});
