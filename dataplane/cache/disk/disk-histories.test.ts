import assert from 'node:assert/strict';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Purge } from '../../../shared/wire/purge.ts';
import { systemFs } from './disk-fs.ts';
import { Disk, type DiskProcess, textEntry, textOf } from './testing/disk.ts';

const TARGETS = ['/a', '/b', '/docs/a', '/docs/b?x'];
const TAGS = ['s', 't'];
type Version = { readonly text: string; readonly tag: string };

/** Numbers that look random and are the same in every run (Park and Miller). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

/**
 * Responses are stored, purged and read, while the disk fails now and then, files are torn, and the process is killed at any moment or
 * hands over. What is read must be the newest response that was stored for its URL, or an older one if the process was killed before it
 * had deleted it; but never one that has been purged.
 */
function history(seed: number): { readonly reads: number; readonly hits: number } {
  using disk = new Disk();
  const pick = numbers(seed);
  let failing = 0;
  const faulty = <F extends (...args: never[]) => unknown>(call: F): F =>
    ((...args: Parameters<F>) => {
      if (failing > 0 && pick(failing) === 0) throw Object.assign(new Error('injected'), { code: pick(2) === 0 ? 'EIO' : 'ENOSPC' });
      return call(...args);
    }) as F;
  const faults = {
    writeSync: faulty(systemFs.writeSync as never),
    renameSync: faulty(systemFs.renameSync as never),
    readSync: faulty(systemFs.readSync as never),
    openSync: faulty(systemFs.openSync as never),
  };
  /** By target: the responses that may be read, and all since the last purge. */
  const newest = new Map<string, { readonly may: readonly Version[]; readonly all: readonly Version[] }>();
  let process: DiskProcess = disk.open(faults);
  let version = 0;
  let reads = 0;
  let hits = 0;
  const target = () => TARGETS[pick(TARGETS.length)] as string;
  const store = (): void => {
    const [where, tag] = [target(), TAGS[pick(2)] as string];
    const text = `${where} ${++version} ${'x'.repeat(pick(2) * 400_000)}`;
    const one = { text: text.slice(0, 30), tag };
    newest.set(where, { may: [one], all: [...(newest.get(where)?.all ?? []), one] });
    process.store.handle({ kind: 'write', entry: textEntry(where, text, { tags: [tag] }), replaces: null });
  };
  const purge = (): void => {
    const kinds: readonly Purge[] = [
      { kind: 'target', host: 'a.test', target: target() },
      { kind: 'prefix', host: 'a.test', prefix: '/docs/' },
      { kind: 'tag', tag: TAGS[pick(2)] as string },
    ];
    const chosen = kinds[pick(3)] as Purge;
    for (const [where, { may, all }] of newest) {
      const isKept = ({ tag }: Version): boolean =>
        !(
          (chosen.kind === 'target' && chosen.target === where) ||
          (chosen.kind === 'prefix' && where.startsWith(chosen.prefix)) ||
          (chosen.kind === 'tag' && chosen.tag === tag)
        );
      newest.set(where, { may: may.filter(isKept), all: all.filter(isKept) });
    }
    assert.ok(process.purge(chosen).saved);
  };
  const read = (): void => {
    const where = target();
    const entries = process.read(where);
    reads++;
    hits += entries.length;
    assert.ok(entries.length <= 1);
    for (const one of entries) {
      assert.match(textOf(one), /^\S+ \d+ x*$/);
      const text = textOf(one).slice(0, 30);
      assert.ok(
        newest.get(where)?.may.some((version) => version.text === text),
        `history ${seed}: ${text}`,
      );
    }
  };
  const tear = (): void => {
    const files = disk.files().filter((path) => !path.includes('writing'));
    const file = files[pick(files.length || 1)];
    if (file === undefined) return;
    const bytes = readFileSync(file);
    if (pick(2) === 0) return truncateSync(file, pick(bytes.length));
    bytes[pick(bytes.length)] = 7;
    writeFileSync(file, bytes);
  };
  /** The next process begins with what is on the disk, without anything that the last one was about to do. */
  const kill = (): void => {
    for (const [where, { all }] of newest) newest.set(where, { may: all, all });
    failing = 0;
    process = disk.open(faults);
    for (let turns = pick(4); turns > 0; turns--) process.store.turn();
  };
  const handOver = (): void => {
    failing = 0;
    process.store.handle({ kind: 'release' });
    const old = process;
    const next = disk.open(faults, { shared: true });
    if (pick(2) === 0) return old.store.handle({ kind: 'reclaim' });
    process = next;
    process.store.handle({ kind: 'own' });
  };
  const rest = (): void => {
    failing = [0, 3, 20][pick(3)] as number;
    disk.clock.pass(31_000);
    process.store.tick();
  };
  const turn = (): void => void process.store.turn();
  const acts = [store, store, store, turn, turn, read, read, read, purge, tear, kill, handOver, rest];
  for (let step = 0; step < 120; step++) {
    const act = acts[pick(acts.length)] as () => void;
    if (act === purge) failing = 0;
    act();
  }
  return { reads, hits };
}

test('only the newest response is served, and never one that was purged, regardless of what fails and in which order', () => {
  let [reads, hits] = [0, 0];
  for (let seed = 1; seed <= 25; seed++) {
    const one = history(seed * 7_919);
    reads += one.reads;
    hits += one.hits;
  }
  assert.ok(hits > reads / 10, `${hits} of ${reads}`);
});
