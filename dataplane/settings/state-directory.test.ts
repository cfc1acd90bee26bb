import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { UsageError } from '../../shared/runtime/flags.ts';
import { prepareStateDir } from './state-directory.ts';

const NOBODY = 65_534;

describe('the state directory', () => {
  const dir = mkdtempSync(join(tmpdir(), 'state-dir-'));
  after(() => rmSync(dir, { recursive: true }));

  it('is created with its parents, accessible only to its owner', () => {
    const path = join(dir, 'a', 'b');
    prepareStateDir(path, 'routes.db');
    prepareStateDir(path, 'routes.db');
    assert.equal(statSync(path).mode & 0o777, 0o700);
  });

  it('is rejected if it is a file, with the name of the flag', () => {
    const file = join(dir, 'file');
    writeFileSync(file, '');
    assert.throws(() => prepareStateDir(file, 'routes.db'), {
      message: `sluice dataplane: can't write the state directory ${file} (it is not a directory); name another one with --state-dir PATH`,
    });
    assert.throws(() => prepareStateDir(join(file, 'below'), 'routes.db'), /a part of the path is not a directory/);
  });

  it('is rejected if this user cannot write to it', () => {
    const closed = join(dir, 'closed');
    prepareStateDir(closed, 'routes.db');
    chmodSync(dir, 0o755);
    chmodSync(closed, 0o555);
    const refused = (error: unknown) => error instanceof UsageError && /permission denied.*--state-dir/.test(error.message);
    asNobody(() => assert.throws(() => prepareStateDir(join(closed, 'mine'), 'routes.db'), refused));
  });

  it('is rejected if it belongs to someone else', {
    skip: process.getuid?.() !== 0 && 'needs root to change the owner of a directory',
  }, () => {
    const path = join(dir, 'theirs');
    prepareStateDir(path, 'routes.db');
    asNobody(() => assert.throws(() => prepareStateDir(path, 'routes.db'), /permission denied/));
  });

  it('suggests running as root only for the default directory', () => {
    asNobody(() =>
      assert.throws(() => prepareStateDir('/var/lib/sluice', 'routes.db'), /run as root or name another one with --state-dir PATH/),
    );
  });
});

/** Root may write everywhere, so these tests drop privileges temporarily. */
function asNobody(claim: () => void): void {
  const root = process.geteuid?.() === 0;
  if (root) process.seteuid?.(NOBODY);
  try {
    claim();
  } finally {
    if (root) process.seteuid?.(0);
  }
}
