import type { ReadBuffer } from '../read-buffer.ts';

/** Reads a body whose every read fills the buffer, and is sent at once or not at all. @returns the buffers of this many reads. */
export function fill(buffers: ReadBuffer, reads: number, isSent: boolean): Buffer[] {
  const used = [buffers.nextOf(0, 0)];
  for (let passed = used[0]?.length ?? 0; used.length < reads; passed += used.at(-1)?.length ?? 0)
    used.push(buffers.nextOf(passed, isSent ? passed : 0));
  return used;
}
