/**
 * Wakes up every millisecond and notes when it was woken late: `SECONDS`. Prints the times from when to when it didn't run, in
 * milliseconds since the epoch, and the processor time it took, in seconds. With real-time priority, only the kernel and the hypervisor can make it late.
 */
const [seconds = 0] = process.argv.slice(2).map(Number);
const PERIOD_MS = 1;
/** How late it counts as a stall. A timer on an idle core is late by about a tenth of this. */
const LATE_MS = 1;

const never = new Int32Array(new SharedArrayBuffer(4));
const stalls: [from: number, to: number][] = [];
const end = performance.now() + seconds * 1_000;
for (let before = performance.now(); before < end; ) {
  Atomics.wait(never, 0, 0, PERIOD_MS);
  const now = performance.now();
  if (now - before > PERIOD_MS + LATE_MS) stalls.push([performance.timeOrigin + before, performance.timeOrigin + now]);
  before = now;
}
const { user, system } = process.cpuUsage();
process.stdout.write(JSON.stringify({ stalls, cpu: (user + system) / 1e6 }));
