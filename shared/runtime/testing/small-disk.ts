import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A file system of 1 MB that is removed with the test. */
export class SmallDisk {
  readonly path = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  /** A folder on it. */
  readonly state = join(this.path, 'state');
  readonly mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', this.path]).status === 0;

  constructor() {
    mkdirSync(this.state);
  }

  /** Writes until nothing more fits. */
  fill(): void {
    const file = openSync(this.ballast, 'w');
    const piece = Buffer.alloc(4_096);
    try {
      for (;;) writeSync(file, piece);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    } finally {
      closeSync(file);
    }
  }

  /** Makes room for this many pieces of 4 KB on a full disk. */
  free(pieces: number): void {
    truncateSync(this.ballast, statSync(this.ballast).size - 4_096 * pieces);
  }

  empty(): void {
    rmSync(this.ballast);
  }

  private get ballast(): string {
    return join(this.path, 'ballast');
  }

  [Symbol.dispose](): void {
    if (this.mounted) assert.equal(spawnSync('umount', [this.path]).status, 0);
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Skips a test where no such file system can be mounted. */
export function skipped(context: TestContext, disk: SmallDisk): boolean {
  if (disk.mounted) return false;
  if (process.env.CI === 'true') assert.fail('a small file system could not be mounted');
  context.skip('needs permission to mount a small file system');
  return true;
}
