import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The last time that a controller confirmed what one of its sources says. */
export const confirmationSchema = z.object({
  /** Names the boot of the kernel; null where it has no name. */
  boot: z.string().nullable(),
  /** Milliseconds since 1970. */
  at: z.number(),
});

export type Confirmation = z.output<typeof confirmationSchema>;

/** By source. */
export type ConfirmedSources = Readonly<Record<string, Confirmation>>;

/** How long after its last confirmation an address is believed (ms). */
const FRESH_MS = 600_000;

/** Names this boot of the kernel: addresses that an engine or a cluster gave in another one mean nothing today. null where it is unknown. */
export function bootId(path = '/proc/sys/kernel/random/boot_id'): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** Why targets of an earlier run may not be used on the strength of their last confirmation; null when they may. `now` in ms since 1970. */
export function whyNotBelieved(confirmation: Confirmation | undefined, boot: string | null, now: number): string | null {
  if (confirmation === undefined) return 'no controller has ever confirmed them';
  if (boot === null || confirmation.boot === null) return 'whether the machine was restarted is unknown';
  if (boot !== confirmation.boot) return 'the machine was restarted since';
  const age = now - confirmation.at;
  // A clock that was set back says nothing about how long it has been.
  if (age >= 0 && age <= FRESH_MS) return null;
  return age < 0 ? 'the clock was set back since' : `their controller was last heard of ${Math.round(age / 60_000)} minutes ago`;
}
