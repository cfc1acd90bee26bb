/** Up to this length a loop is faster than the call of a native function. */
const SHORT = 128;

/** Copies `source[from, to)` to `target` from index `at`. */
export function copyBytes(source: Buffer, from: number, to: number, target: Buffer, at: number): void {
  if (to - from > SHORT) {
    source.copy(target, at, from, to);
    return;
  }
  let end = at;
  for (let next = from; next < to; next++) target[end++] = source[next] as number;
}
