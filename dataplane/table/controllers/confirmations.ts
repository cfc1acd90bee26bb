import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { hasIdentifiedTargets } from '../claims/facts.ts';
import type { Frame } from '../table.ts';
import type { ControllerRecord } from './controllers.ts';

/** The last time that a controller stood by what one of its sources says. */
export const confirmationSchema = z.object({
  /** Names the run of the kernel; null where it has no name. */
  boot: z.string().nullable(),
  /** Milliseconds since 1970. */
  at: z.number(),
});

export type Confirmation = z.output<typeof confirmationSchema>;

/** An address outlives its target for this long (ms), as far as we believe it without asking. */
const FRESH_MS = 600_000;
/** A controller that stays is written down this often (ms). */
const RENEW_MS = 60_000;

/** Names this run of the kernel: addresses that an engine or a cluster gave in another one say nothing today. null where it can't be told. */
export function bootId(path = '/proc/sys/kernel/random/boot_id'): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

/** Why a target of an earlier run may not be used on the strength of its last confirmation; null when it may. `now` in ms since 1970. */
export function doubtOf(confirmation: Confirmation | undefined, boot: string | null, now: number): string | null {
  if (confirmation === undefined) return 'no controller has ever confirmed them';
  if (boot === null || confirmation.boot === null) return 'whether the machine was started anew can not be told';
  if (boot !== confirmation.boot) return 'the machine was started anew since';
  const age = now - confirmation.at;
  // A clock that was set back says nothing about how long it has been.
  if (age >= 0 && age <= FRESH_MS) return null;
  return age < 0 ? 'the clock was set back since' : `their controller was last heard of ${Math.round(age / 60_000)} minutes ago`;
}

type Header = Frame['header'];
const NONE: ReadonlySet<string> = new Set();

/** Which sources each controller has spoken for since the start, and what of that is to be written down. */
export class Confirmations {
  private readonly boot: string | null;
  private readonly clock: Clock;
  private readonly spoken = new Map<string, { readonly epoch: number; readonly sources: Set<string> }>();
  /** Controllers with targets for which a confirmation matters, and when theirs is due next (ms, monotonic). */
  private readonly due = new Map<string, number>();

  constructor(boot: string | null, clock: Clock) {
    this.boot = boot;
    this.clock = clock;
  }

  /**
   * The sources that a frame speaks for. A difference names also those that have only failed in this run of the
   * controller, for the sake of their problems: it knows nothing of their targets.
   */
  standsBy({ controller, epoch, sources, based_on }: Header): readonly string[] {
    const spoken = this.spoken.get(controller);
    if (based_on === null || spoken?.epoch !== epoch) return sources;
    return sources.filter((source) => spoken.sources.has(source));
  }

  /** A frame has been taken. */
  note({ header, routes }: Frame): void {
    const { controller, epoch } = header;
    const sources = new Set([...this.spokenIn(controller, epoch), ...this.standsBy(header)]);
    this.spoken.set(controller, { epoch, sources });
    if (routes.some(hasIdentifiedTargets)) this.due.set(controller, this.clock.monotonic() + RENEW_MS);
  }

  /** Whether a sign of life of this controller is to be written down. Says so once in RENEW_MS. */
  isDue(controller: string): boolean {
    const due = this.due.get(controller);
    const now = this.clock.monotonic();
    if (due === undefined || now < due) return false;
    this.due.set(controller, now + RENEW_MS);
    return true;
  }

  /** The controller stands by what this frame speaks for, and by all that it has spoken for since its start or ours. */
  renewed(controller: string, earlier: ControllerRecord['confirmed'], frame?: Header): ControllerRecord['confirmed'] {
    const confirmation = { boot: this.boot, at: this.clock.now() };
    const confirmed = { ...earlier };
    const spoken = this.spokenIn(controller, frame?.epoch);
    for (const source of [...spoken, ...(frame ? this.standsBy(frame) : [])]) confirmed[source] = confirmation;
    return confirmed;
  }

  private spokenIn(controller: string, epoch: number | undefined): ReadonlySet<string> {
    const spoken = this.spoken.get(controller);
    return spoken && (epoch === undefined || spoken.epoch === epoch) ? spoken.sources : NONE;
  }
}
