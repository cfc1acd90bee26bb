import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** When a controller last confirmed the state of one of its sources. */
export const confirmationSchema = z.object({
  /** The result of `startId`: identifies the start of the machine or container; null if unknown. */
  boot: z.string().nullable(),
  /** Milliseconds since 1970. */
  at: z.number(),
});

export type Confirmation = z.output<typeof confirmationSchema>;

/** By source. */
export type ConfirmedSources = Readonly<Record<string, Confirmation>>;

/** How long an address is trusted after its last confirmation (ms). */
const FRESH_MS = 600_000;

/**
 * Identifies this boot of the kernel; null if unknown. Addresses that an engine or cluster assigned in an earlier boot mean nothing now.
 */
export function bootId(path = '/proc/sys/kernel/random/boot_id'): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** Why the last confirmation is not enough to use targets of an earlier run; null if it is. `now` is in ms since 1970. */
export function whyNotBelieved(confirmation: Confirmation | undefined, boot: string | null, now: number): string | null {
  if (confirmation === undefined) return 'no controller has confirmed them';
  if (boot === null || confirmation.boot === null) return 'whether the machine was restarted is unknown';
  if (boot !== confirmation.boot) return `${isSameMachine(boot, confirmation.boot) ? 'this container' : 'the machine'} was restarted since`;
  const age = now - confirmation.at;
  // If the clock was set back, the age is unknown.
  if (age >= 0 && age <= FRESH_MS) return null;
  return age < 0 ? 'the clock was set back since' : `their controller last confirmed them ${Math.round(age / 60_000)} minutes ago`;
}

const isSameMachine = (one: string, other: string): boolean => one.split(' ')[0] === other.split(' ')[0];
