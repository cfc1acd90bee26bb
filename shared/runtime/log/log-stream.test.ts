import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../testing/manual-clock.ts';
import { LogStream } from './log-stream.ts';

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A log that is written to a pipe. */
class Scene {
  readonly clock = new ManualClock();
  readonly lost: number[] = [];
  readonly stream: LogStream;
  paused = 0;
  private readonly folder = mkdtempSync(join(tmpdir(), 'log-stream-'));
  private readonly reader: number;
  private readonly writer: number;
  private text = '';

  constructor(pause: (scene: Scene) => void = () => undefined) {
    const path = join(this.folder, 'pipe');
    execFileSync('mkfifo', [path]);
    this.reader = openSync(path, O_RDONLY | O_NONBLOCK);
    this.writer = openSync(path, O_WRONLY | O_NONBLOCK);
    this.stream = new LogStream(this.writer, {
      clock: this.clock,
      pause: (ms) => {
        this.paused += ms;
        this.clock.pass(ms);
        pause(this);
      },
      lost: (lines) => void this.lost.push(lines),
    });
  }

  leave(): void {
    closeSync(this.reader);
  }

  /** The lines that the pipe holds. */
  read(): string[] {
    const piece = Buffer.alloc(1 << 16);
    try {
      for (let bytes = readSync(this.reader, piece); bytes > 0; bytes = readSync(this.reader, piece))
        this.text += piece.toString('utf8', 0, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    const lines = this.text.split('\n');
    this.text = lines.pop() ?? '';
    return lines;
  }

  [Symbol.dispose](): void {
    closeSync(this.writer);
    rmSync(this.folder, { recursive: true });
  }
}

const line = (nth: number): string => `${nth} ${'x'.repeat(1_000)}`;
const numbers = (lines: readonly string[]): number[] => lines.map((text) => Number.parseInt(text, 10));

test('a line is written at once', () => {
  using scene = new Scene();
  scene.stream.write('one\n');
  assert.deepEqual(scene.read(), ['one']);
  scene.leave();
});

test('a full pipe never blocks: lines wait for its reader in order, and those beyond 1 MiB are lost and reported', () => {
  using scene = new Scene();
  for (let nth = 0; nth < 3_000; nth++) scene.stream.write(`${line(nth)}\n`);
  const read = numbers(scene.read());
  for (let pass = 0; pass < 100; pass++) {
    scene.clock.pass(100);
    read.push(...numbers(scene.read()));
  }
  assert.deepEqual(
    read,
    Array.from(read, (_, nth) => nth),
  );
  assert.ok(read.length > 1_000 && read.length < 3_000, `${read.length}`);
  assert.deepEqual(scene.lost, [3_000 - read.length]);
  scene.stream.write('next\n');
  assert.deepEqual(scene.read(), ['next']);
  scene.leave();
});

test('when the process ends, a slow reader gets half a second for the last lines', () => {
  const read: string[] = [];
  using scene = new Scene((self) => read.push(...self.read()));
  for (let nth = 0; nth < 500; nth++) scene.stream.write(`${line(nth)}\n`);
  scene.stream.flushSync();
  assert.equal(read.length + scene.read().length, 500);
  scene.leave();
});

test('when the process ends, a pipe without a reader delays it once, for half a second', () => {
  using scene = new Scene();
  for (let nth = 0; nth < 500; nth++) scene.stream.write(`${line(nth)}\n`);
  scene.stream.flushSync();
  scene.stream.flushSync();
  assert.ok(scene.paused >= 500 && scene.paused < 600, `${scene.paused}`);
  scene.leave();
});

test('a pipe whose reader has left is no error', () => {
  using scene = new Scene();
  scene.leave();
  for (let nth = 0; nth < 3; nth++) scene.stream.write('lost\n');
  scene.stream.flushSync();
  assert.deepEqual([scene.lost, scene.paused], [[], 0]);
});
