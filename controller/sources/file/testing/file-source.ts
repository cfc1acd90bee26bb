import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../../shared/runtime/log.ts';
import type { Snapshot } from '../../source.ts';
import { createFileSource } from '../source.ts';

/** Whatever takes longer hangs. Milliseconds. */
export const LONG_MS = 60_000;

/** Nothing is ever polled on this clock: a change that is heard was notified. */
export const withoutPolls: Clock = { ...systemClock, every: () => () => undefined };

/** A site of its own that answers its name. */
export const site = (name: string): string => `${name}.example { respond 200 "${name}" }\n`;

/** What a snapshot says, short: its domains, or its errors. */
export const gist = (snapshot: Snapshot): string =>
  snapshot.kind === 'listed' ? snapshot.routes.map(({ domain }) => domain).join(' ') : `failed: ${snapshot.errors.join('; ')}`;

/** A directory that goes with the test. */
export async function temporary(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'file-source-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs a source on `path`; `next` resolves with the next snapshot and the time that it took, or fails. */
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
  const next = async (within = LONG_MS): Promise<{ said: string; tookMs: number }> => {
    const start = performance.now();
    while (heard.length === taken) {
      const left = start + within - performance.now();
      if (left <= 0) assert.fail(`nothing was heard in ${within} ms after ${heard.map(gist).join(' | ')}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return { said: gist(heard[taken++] as Snapshot), tookMs: performance.now() - start };
  };
  /** Nothing that was not asked for is left. */
  const rest = (): string[] => heard.slice(taken).map(gist);
  return { source, next, rest, stopping, running };
}

/** A running source on a file, after its first snapshot. */
export async function started(t: TestContext, clock = systemClock) {
  const directory = await temporary(t);
  const path = join(directory, 'Sluicefile');
  await writeFile(path, site('one'));
  const following = follow(t, path, clock);
  await following.next();
  return { directory, path, ...following };
}
