import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from 'bcrypt';
import { sluice } from '../testing/run-command.ts';

const hashOf = (input: string, ...more: string[]) => sluice(['hash-password', ...more], { input });

test('hashes the line on stdin without its line feed and prints only the hash', async () => {
  const { code, out, err } = await hashOf('pass word ü\n', '--cost', '10');
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^\$2b\$10\$[./A-Za-z0-9]{53}\n$/);
  assert.ok(await compare('pass word ü', out.trim()));
});

test('rejects a password that bcrypt would truncate, several lines and empty input, each in one line', async () => {
  const cases: [input: string, names: RegExp][] = [
    ['ü'.repeat(37), /74 bytes.*first 72/],
    ['one\ntwo\n', /a single line/],
    ['\n', /empty/],
    ['', /empty/],
  ];
  for (const [input, names] of cases) {
    const { code, out, err } = await hashOf(input);
    assert.deepEqual([code, out, err.split('\n').length], [1, '', 2], err);
    assert.match(err, names);
  }
});

test('a cost that is too low or too high is exit 2', async () => {
  for (const cost of ['9', '17', 'x']) {
    const { code, err } = await hashOf('x', '--cost', cost);
    assert.equal(code, 2);
    assert.match(err, /--cost ".*": the cost must be a number from 10 to 16/);
  }
});
