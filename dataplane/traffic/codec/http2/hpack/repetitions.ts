const SLOTS = 1_024;

/** The hashes of recent lines, one per slot. All connections of the thread share them, so they cost a connection nothing. */
const SEEN = new Int32Array(SLOTS);

/** Whether the same text has occurred before, as far as is still known. */
export function isRepeated(text: string): boolean {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  const slot = hash & (SLOTS - 1);
  if (SEEN[slot] === hash) return true;
  SEEN[slot] = hash;
  return false;
}
