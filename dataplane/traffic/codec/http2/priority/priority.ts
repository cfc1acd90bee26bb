/** The urgency of a response without a signal; 0 is the most urgent, 7 the least (RFC 9218 4.1). */
const DEFAULT_URGENCY = 3;
const LEAST_URGENT = 7;
/** Longer values say nothing that we know, and take longer to read than they are worth. */
const MAX_CHARACTERS = 64;

/** How a response is scheduled among the others of its connection (RFC 9218 4). */
export type Priority = { readonly urgency: number; readonly incremental: boolean };

/**
 * Responses without a signal share the connection in turns. RFC 9218 10 would send one after the other, which suits the parts of a
 * page; but most clients that give no signal make calls that don't belong together, and one long response would hold up the others.
 */
export const NO_SIGNAL: Priority = { urgency: DEFAULT_URGENCY, incremental: true };

/**
 * Reads the Priority field or the value of a PRIORITY_UPDATE frame: a dictionary (RFC 9651 3.2) with `u` and `i`. A value out of range or
 * of another type counts as absent (RFC 9218 4).
 */
export function readPriority(value: string): Priority {
  let urgency = DEFAULT_URGENCY;
  let incremental = false;
  if (value.length > MAX_CHARACTERS) return { urgency, incremental };
  for (const member of value.split(',')) {
    const [item = ''] = member.trim().split(';');
    const [, key, text] = /^([ui])(?:=(.*))?$/.exec(item.trim()) ?? [];
    if (key === 'u' && /^[0-7]$/.test(text ?? '')) urgency = Math.min(LEAST_URGENT, Number(text));
    else if (key === 'i') incremental = text === undefined || text === '?1';
  }
  return { urgency, incremental };
}
