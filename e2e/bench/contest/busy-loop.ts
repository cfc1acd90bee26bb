/**
 * Does nothing but look at the clock: `SECONDS`. Prints how much of that time it was stopped for, and the longest time, in seconds. What
 * other programs, the kernel and the hypervisor take is all in it.
 */
const [seconds = 0] = process.argv.slice(2).map(Number);
/** A step of the loop takes less than a microsecond. Interrupts take some, and collections of garbage none, as there is no garbage. */
const STOPPED_MS = 0.5;

let [stopped, longest] = [0, 0];
const begun = performance.now();
for (let now = begun, before = begun; now - begun < seconds * 1_000; before = now) {
  now = performance.now();
  const gap = now - before;
  if (gap < STOPPED_MS) continue;
  stopped += gap;
  longest = Math.max(longest, gap);
}
process.stdout.write(JSON.stringify({ share: stopped / 1_000 / seconds, longest: longest / 1_000 }));
