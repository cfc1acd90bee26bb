import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

const MAX_LISTED = 15;
const TOGETHER = fileURLToPath(new URL('together.ts', import.meta.url));

/** A reporter for node:test that prints a table of the slowest files at the end. */
export default async function* slowest(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seconds = new Map<string, number>();
  const began = performance.now();
  for await (const { type, data } of events) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting > 0 || data.file === undefined) continue;
    // In a process that runs several, each file is a suite (scripts/together.ts).
    const file = data.details.type === 'suite' && data.file === TOGETHER ? data.name : relative(process.cwd(), data.file);
    seconds.set(file, (seconds.get(file) ?? 0) + data.details.duration_ms / 1_000);
  }
  const files = [...seconds].toSorted(([, one], [, other]) => other - one);
  const sum = files.reduce((total, [, took]) => total + took, 0);
  const took = (performance.now() - began) / 1_000;
  yield `\nThe slowest of ${files.length} files (${sum.toFixed(0)} s of tests in ${took.toFixed(0)} s):\n`;
  for (const [file, one] of files.slice(0, MAX_LISTED)) yield `${one.toFixed(1).padStart(7)} s  ${file}\n`;
}
