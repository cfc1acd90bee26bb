import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import type { Snapshot } from '../../source.ts';
import { createFileSource } from '../source.ts';

/** Anything that takes longer hangs (ms). */
export const LONG_MS = 60_000;

/** A clock that never polls: every change was notified. */
export const withoutPolls: Clock = { ...systemClock, every: () => () => undefined };

/** A site that responds with its name. */
export const site = (name: string): string => `${name}.example { respond 200 "${name}" }\n`;

/** A short summary of a snapshot: its domains, or its errors. */
export const gist = (snapshot: Snapshot): string =>
  snapshot.kind === 'listed' ? snapshot.routes.map(({ domain }) => domain).join(' ') : `failed: ${snapshot.errors.join('; ')}`;

/** A directory that is removed after the test. */
export async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'file-source-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs a source on `path`; `next` resolves with the next snapshot, or fails. */
export function follow(t: TestContext, path: string, clock = systemClock) {
  const stopping = new AbortController();
  const heard: Snapshot[] = [];
  let wake: () => void = () => undefined;
  let taken = 0;
  const source = createFileSource({ path, clock, log: memoryLog(), env: {} });
  const running = source.run(stopping.signal, (snapshot) => {
    heard.push(snapshot);
    wake();
  });
  t.after(async () => {
    stopping.abort();
    await running;
  });
  const next = async (within = LONG_MS): Promise<{ gist: string }> => {
    const start = performance.now();
    while (heard.length === taken) {
      const left = start + within - performance.now();
      if (left <= 0) assert.fail(`no snapshot within ${within} ms after ${heard.map(gist).join(' | ')}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return { gist: gist(heard[taken++] as Snapshot) };
  };
  /** No unexpected snapshot is left. */
  const rest = (): string[] => heard.slice(taken).map(gist);
  return { source, next, rest, stopping, running };
}

/** A running source for a file, after its first snapshot. */
export async function started(t: TestContext, clock = systemClock) {
  const directory = await temporary(t);
  const path = join(directory, 'Sluicefile');
  await writeFile(path, site('one'));
  const following = follow(t, path, clock);
  await following.next();
  return { directory, path, ...following };
}
