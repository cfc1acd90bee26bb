/** The maximum number of distinct names in one list of one host in one report; rarer ones of that second are left out. */
export const MAX_LISTED = 2_048;

export function increment(counts: Map<string, number>, name: string): void {
  const count = counts.get(name);
  if (count !== undefined) counts.set(name, count + 1);
  else if (counts.size < MAX_LISTED) counts.set(copied(name), 1);
}

/** Copied out of the head that it was cut from, so that a name in a list does not keep whole requests in memory. */
export const copied = (text: string): string => Buffer.from(text).toString();
