import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { domainReport } from '../../traffic/testing/samples/domain-report.ts';
import { hashes } from '../testing/hashes.ts';
import { HistoryKeeper } from './keeper.ts';
import { parseRange } from './range.ts';
import { DAY } from './store.ts';

const START = Date.UTC(2026, 0, 5, 12);
const SECTOR = 512;
const SAVES = 24;

/** Histories of one machine in a folder, each in a file of its own. */
class Machine {
  readonly folder = mkdtempSync(join(tmpdir(), 'torn-'));
  readonly log = memoryLog();

  path(name: string): string {
    return join(this.folder, `${name}.db`);
  }

  keeper(name: string): HistoryKeeper {
    const clock = { ...systemClock, now: () => START };
    return new HistoryKeeper({
      path: this.path(name),
      retention: { hoursMs: 35 * DAY, daysMs: 400 * DAY, maxBytes: 2 ** 30 },
      clock,
      log: this.log,
    });
  }

  /** The content of a disk for `name` if the power is cut when only a part of a write to the log has arrived. */
  cut(name: string, image: string, tear: (log: Buffer) => Buffer): void {
    copyFileSync(this.path(name), this.path(image));
    writeFileSync(`${this.path(image)}-wal`, tear(readFileSync(`${this.path(name)}-wal`)));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** null if nothing of it is kept. */
function viewsIn(keeper: HistoryKeeper): number | null {
  const range = parseRange(new Map(), START);
  assert.ok(range.ok);
  const answer = keeper.answer('a.test', range.value, 'json');
  if (answer.kind === 'unknown') return null;
  return answer.kind === 'history' ? JSON.parse(answer.text).totals.views : assert.fail(JSON.stringify(answer));
}

test('a history whose last writes are torn is that of an earlier save, complete and without an error, and continues from there', () => {
  using machine = new Machine();
  const random = hashes(14);
  const below = (limit: number): number => random.next().value % limit;
  /** The end is missing, and a sector before it has not been written. */
  const tear = (log: Buffer): Buffer => {
    const torn = Buffer.from(log.subarray(0, below(log.length + 1)));
    const sector = Math.floor(below(torn.length + 1) / SECTOR) * SECTOR;
    return below(2) === 0 ? torn : torn.fill(0, sector, Math.min(sector + SECTOR, torn.length));
  };
  const keeper = machine.keeper('whole');
  const found: number[] = [];
  for (let saved = 1; saved <= SAVES; saved++) {
    keeper.add([domainReport('a.test', { requests: 1 })]);
    keeper.save();
    const image = `image-${saved}`;
    machine.cut('whole', image, tear);
    const after = machine.keeper(image);
    const views = viewsIn(after) ?? 0;
    assert.ok(Number.isInteger(views) && views <= saved, `${views} of ${saved}`);
    found.push(views);
    after.add([domainReport('a.test', { requests: 1 })]);
    after.close();
    assert.equal(viewsIn(machine.keeper(image)), views + 1);
  }
  assert.deepEqual([viewsIn(keeper), machine.log.lines], [SAVES, []]);
  assert.ok(new Set(found).size > 3, `${found}`);
});
