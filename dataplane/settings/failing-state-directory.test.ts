// Runs alone: it replaces a function of node:fs for every caller.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UsageError } from '../../shared/runtime/flags.ts';
import { prepareStateDir } from './state-directory.ts';

/** @returns a state directory in which nothing can be created, for this reason. */
function failing(t: TestContext, code: string, errno: number): string {
  const path = fs.mkdtempSync(join(tmpdir(), 'state-dir-'));
  const original = fs.mkdtempSync;
  fs.mkdtempSync = (() => {
    throw Object.assign(new Error(code), { code, errno: -errno });
  }) as typeof fs.mkdtempSync;
  syncBuiltinESMExports();
  t.after(() => {
    fs.mkdtempSync = original;
    syncBuiltinESMExports();
    fs.rmSync(path, { recursive: true });
  });
  return path;
}

test('a state directory whose disk fails is used as long as the table in it can be read', (t) => {
  const path = failing(t, 'EIO', constants.errno.EIO);
  // A service manager starts it again.
  assert.throws(() => prepareStateDir(path, 'routes.db'), { constructor: UsageError, message: /\(the disk fails\)/, exitCode: 1 });
  fs.writeFileSync(join(path, 'routes.db'), '');
  assert.equal(prepareStateDir(path, 'routes.db'), 'the disk fails');
});

test('a state directory that may not be written is a usage error, which no service manager starts again', (t) => {
  const path = failing(t, 'EACCES', constants.errno.EACCES);
  assert.throws(() => prepareStateDir(path, 'routes.db'), { message: /\(permission denied\)/, exitCode: 2 });
});

test('a quota that is used up counts as a full disk, which keeps nothing from being served', (t) => {
  const { EDQUOT } = constants.errno;
  assert.equal(prepareStateDir(failing(t, `Unknown system error -${EDQUOT}`, EDQUOT), 'routes.db'), null);
});
