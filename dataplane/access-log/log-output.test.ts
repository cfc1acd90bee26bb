import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LogOutput } from './log-output.ts';

const folder = (): { path: string; [Symbol.dispose](): void } => {
  const path = mkdtempSync(join(tmpdir(), 'log-output-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
};
const output = (path: string, follows = false): LogOutput => new LogOutput({ path, follows }, { bytes: 0 });
const add = (log: LogOutput, line: string, now = 0): boolean => log.add(Buffer.from(`${line}\n`), 0, Buffer.byteLength(line) + 1, now);

test('lines are appended to a file that only its owner and group can read', () => {
  using place = folder();
  const path = join(place.path, 'a.log');
  for (const line of ['one', 'two']) {
    const log = output(path);
    assert.ok(add(log, line));
    log.flush(0);
    assert.equal(log.failure, null);
  }
  assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
  assert.equal(statSync(path).mode & 0o007, 0);
});

test('a file that was renamed is written until it is reopened, and no line is in both or in neither', () => {
  using place = folder();
  const [path, old] = [join(place.path, 'a.log'), join(place.path, 'a.log.1')];
  const log = output(path);
  add(log, 'one');
  log.flush(0);
  renameSync(path, old);
  add(log, 'two');
  log.flush(0);
  add(log, 'three');
  assert.equal(log.reopen(0), 0);
  add(log, 'four');
  log.flush(0);
  assert.equal(readFileSync(old, 'utf8'), 'one\ntwo\nthree\n');
  assert.equal(readFileSync(path, 'utf8'), 'four\n');
});

test('a directory that is gone keeps the open file in use when it is reopened', () => {
  using place = folder();
  const path = join(place.path, 'a.log');
  const log = output(path);
  add(log, 'one');
  log.flush(0);
  renameSync(place.path, `${place.path}-moved`);
  log.reopen(0);
  assert.match(log.failure ?? '', /ENOENT/);
  add(log, 'two');
  log.flush(0);
  assert.equal(log.failure, null);
  renameSync(`${place.path}-moved`, place.path);
  assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
});

test('a path that can’t be opened is tried again after a second, and no waiting line is lost', () => {
  using place = folder();
  const log = output(join(place.path, 'none', 'a.log'));
  add(log, 'one');
  log.flush(0);
  assert.match(log.failure ?? '', /ENOENT/);
  execFileSync('mkdir', [join(place.path, 'none')]);
  log.flush(500);
  assert.notEqual(log.failure, null);
  log.flush(1_000);
  assert.equal(log.failure, null);
  assert.equal(readFileSync(join(place.path, 'none', 'a.log'), 'utf8'), 'one\n');
});

test('a symbolic link is followed only where that was allowed', () => {
  using place = folder();
  const [target, link] = [join(place.path, 'target'), join(place.path, 'a.log')];
  symlinkSync(target, link);
  const site = output(link);
  add(site, 'one');
  site.flush(0);
  assert.match(site.failure ?? '', /ELOOP/);
  assert.equal(existsSync(target), false);
  const own = output(link, true);
  add(own, 'two');
  own.flush(0);
  assert.equal(readFileSync(target, 'utf8'), 'two\n');
});

test('a pipe without a reader never blocks: lines wait for one, and those beyond 8 MB are dropped', () => {
  using place = folder();
  const path = join(place.path, 'pipe.log');
  execFileSync('mkfifo', [path]);
  const log = output(path);
  const line = 'x'.repeat(1_023);
  let taken = 0;
  while (add(log, line)) taken++;
  assert.equal(taken, 8_192);
  log.flush(0);
  assert.match(log.failure ?? '', /ENXIO/);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const piece = Buffer.alloc(1 << 20);
  let read = 0;
  for (let now = 1_000; read < 8_192 * 1_024; now++) {
    log.flush(now);
    assert.equal(log.failure, null);
    const bytes = readSync(reader, piece);
    assert.ok(bytes > 0);
    read += bytes;
  }
  assert.equal(log.unwritten, 0);
  closeSync(reader);
});

test('the next reader of a pipe does not begin with the rest of a line', () => {
  using place = folder();
  const path = join(place.path, 'pipe.log');
  execFileSync('mkfifo', [path]);
  const log = output(path);
  const reader = () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const first = reader();
  for (let nth = 0; nth < 12; nth++) add(log, `${nth}${'x'.repeat(9_000)}`);
  log.flush(0);
  closeSync(first);
  assert.equal(log.flush(1), 1);
  assert.match(log.failure ?? '', /EPIPE/);
  add(log, 'last');
  const next = reader();
  assert.equal(log.flush(1_001), 0);
  const piece = Buffer.alloc(1 << 20);
  const lines = piece.toString('utf8', 0, readSync(next, piece)).split('\n');
  assert.deepEqual(lines.map((line) => line.slice(0, 4)).slice(-3), ['11xx', 'last', '']);
  assert.match(lines[0] ?? '', /^\d+x{9000}$/);
  closeSync(next);
});

test('a device that is full keeps the lines, and the rest of a line that it took half of is not written to the next file', () => {
  const log = output('/dev/full');
  add(log, 'one');
  log.flush(0);
  assert.match(log.failure ?? '', /ENOSPC/);
  assert.equal(log.unwritten, 1);
});

test('all outputs together keep at most 32 MB', () => {
  const waiting = { bytes: 0 };
  const line = Buffer.from(`${'x'.repeat(1_023)}\n`);
  let taken = 0;
  for (let nth = 0; nth < 6; nth++) {
    const log = new LogOutput({ path: `/nonexistent/${nth}.log`, follows: false }, waiting);
    while (log.add(line, 0, line.length, 0)) taken++;
  }
  assert.equal(taken, 32_768);
});

test('a file without lines is closed after a minute, and opened again for the next', () => {
  using place = folder();
  const path = join(place.path, 'a.log');
  const log = output(path);
  add(log, 'one', 0);
  log.flush(0);
  rmSync(path);
  log.flush(30_000);
  assert.equal(existsSync(path), false);
  log.flush(60_000);
  add(log, 'two', 60_001);
  log.flush(60_001);
  assert.equal(readFileSync(path, 'utf8'), 'two\n');
});
