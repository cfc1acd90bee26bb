import type { Clock } from '../../../shared/runtime/clock.ts';
import { hasIdentifiedTargets } from '../claims/facts.ts';
import type { Frame } from '../table.ts';
import type { ConfirmedSources } from './confirmation.ts';

/** How often the confirmation of a controller that stays connected is saved (ms). */
const RENEW_MS = 60_000;

type Header = Frame['header'];
const NONE: ReadonlySet<string> = new Set();

/** Tracks which sources each controller has listed since the start, and which confirmations must be saved. */
export class Confirmations {
  private readonly boot: string | null;
  private readonly clock: Clock;
  private readonly listed = new Map<string, { readonly epoch: number; readonly sources: Set<string> }>();
  /** Controllers with targets that need confirmations, and when the next one is due (ms, monotonic). */
  private readonly due = new Map<string, number>();

  constructor(boot: string | null, clock: Clock) {
    this.boot = boot;
    this.clock = clock;
  }

  /**
   * The sources that a frame confirms. A delta can also name sources that have so far only failed in this run of the
   * controller, to report their problems. It does not confirm the targets of those.
   */
  confirmedBy({ controller, epoch, sources, based_on }: Header): readonly string[] {
    const listed = this.listed.get(controller);
    if (based_on === null || listed?.epoch !== epoch) return sources;
    return sources.filter((source) => listed.sources.has(source));
  }

  /** Called when a frame has been applied. */
  noteFrame({ header, routes }: Frame): void {
    const { controller, epoch } = header;
    const sources = new Set([...this.listedBy(controller, epoch), ...this.confirmedBy(header)]);
    this.listed.set(controller, { epoch, sources });
    if (routes.some(hasIdentifiedTargets)) this.due.set(controller, this.clock.monotonic() + RENEW_MS);
  }

  /** Whether the confirmation by a controller that is alive must be saved: true once in RENEW_MS. */
  isRenewalDue(controller: string): boolean {
    const due = this.due.get(controller);
    const now = this.clock.monotonic();
    if (due === undefined || now < due) return false;
    this.due.set(controller, now + RENEW_MS);
    return true;
  }

  /** Confirms the sources of this frame, and all that the controller has listed since it or the data plane was started. */
  renewed(controller: string, earlier: ConfirmedSources, frame?: Header): ConfirmedSources {
    const confirmation = { boot: this.boot, at: this.clock.now() };
    const confirmed = { ...earlier };
    const listed = this.listedBy(controller, frame?.epoch);
    for (const source of [...listed, ...(frame ? this.confirmedBy(frame) : [])]) confirmed[source] = confirmation;
    return confirmed;
  }

  forget(controller: string): void {
    this.listed.delete(controller);
    this.due.delete(controller);
  }

  /** The sources that the controller has listed in this run, or in its last one. */
  listedBy(controller: string, epoch?: number): ReadonlySet<string> {
    const listed = this.listed.get(controller);
    return listed && (epoch === undefined || listed.epoch === epoch) ? listed.sources : NONE;
  }
}
