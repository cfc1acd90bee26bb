import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { lostName } from '../claims/claims.ts';
import type { LiveTable } from '../live-table.ts';
import { markLost } from './mark-lost.ts';

/** A controller whose stream was open for less (ms) sends what it has to say, and stays away. */
const STAYING_MS = 1_000;
/** A controller that has left may have been leaving for this long (ms), and no longer have noticed what was lost. */
const LEAVING_MS = 1_000;
/** How many losses are remembered for that. */
const MAX_RECENT = 1_000;

/** A target that did not accept a connection; its id identifies what its source expects at the address. */
export type LostTarget = { readonly address: string; readonly id: string };

type Losses = {
  readonly table: Pick<LiveTable, 'revise' | 'onChange' | 'controllers'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Controllers whose streams stayed open in the process that this one has taken over from. */
  readonly staying?: readonly string[];
};

/**
 * Takes targets with an id out of rotation that do not accept connections while their controller is away, until it confirms them: nobody
 * else knows whose addresses they are when these respond again. A controller that is back is still away for a source until it has listed it.
 */
export class LostTargets {
  private readonly tools: Losses;
  /** Since when the stream of each connected controller is open (ms, monotonic). */
  private readonly connected = new Map<string, number>();
  /** Controllers whose streams stay open. */
  private readonly staying: Set<string>;
  /** What those that have left had listed: another set with each frame, also one that repeats the last. */
  private readonly left = new Map<string, ReadonlySet<string>>();
  /** When each target was lost (ms, monotonic), by its name. */
  private readonly recent = new Map<string, number>();
  /** Those that no route of a controller that is away uses: none names them, or they are lost already. */
  private readonly others = new Set<string>();
  private isWaiting = false;
  /** Why the table could not be changed the last time; null if it could. */
  private failure: string | null = null;

  constructor(tools: Losses) {
    this.tools = tools;
    // Until they have connected and listed their sources here, they are away.
    this.staying = new Set(tools.staying);
    tools.table.onChange(({ published }) => {
      if (published) this.others.clear();
    });
  }

  /** The stream of a controller was opened or has ended. */
  controller(id: string, connected: boolean): void {
    const now = this.tools.clock.monotonic();
    this.others.clear();
    if (connected) {
      this.connected.set(id, now);
      this.left.delete(id);
      return;
    }
    if (now - (this.connected.get(id) ?? now) >= STAYING_MS) this.staying.add(id);
    this.connected.delete(id);
    if (!this.staying.has(id)) return;
    for (const known of this.tools.table.controllers()) if (known.id === id) this.left.set(id, known.listed);
    this.forgetOld();
    if (this.recent.size > 0) this.takeOut();
  }

  /** Controllers whose streams stay open, for a process that takes over. */
  stayingOnes(): ReadonlySet<string> {
    const now = this.tools.clock.monotonic();
    const connected = [...this.connected].filter(([, since]) => now - since >= STAYING_MS);
    return new Set([...this.staying, ...connected.map(([id]) => id)]);
  }

  /** A connection to it was not accepted. */
  lost(target: LostTarget): void {
    const name = lostName(target);
    if (this.others.has(name)) return;
    this.recent.delete(name);
    this.recent.set(name, this.tools.clock.monotonic());
    const [oldest] = this.recent.size > MAX_RECENT ? this.recent.keys() : [];
    if (oldest !== undefined) this.recent.delete(oldest);
    if (this.unattended().size === 0) return;
    // The next run of a controller may replace the stream of the last one, which never ends then.
    if (!this.isWaiting) this.forgetOld();
    this.takeOut();
  }

  private forgetOld(): void {
    const now = this.tools.clock.monotonic();
    for (const [name, at] of this.recent) if (now - at > LEAVING_MS) this.recent.delete(name);
  }

  /** The sources of each controller that nobody follows. */
  private unattended(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, ReadonlySet<string>>();
    // The stream of one that is connected may be that of its next run, which has replaced the last one's.
    const staying = this.stayingOnes();
    for (const { id, sources, listed } of staying.size > 0 ? this.tools.table.controllers() : []) {
      if (!staying.has(id)) continue;
      // Its next frame may have been applied, while not every worker serves it yet.
      const isAway = this.left.get(id) === listed;
      const without = isAway ? sources : sources.filter((source) => !listed.has(source));
      if (without.length > 0) found.set(id, new Set(without));
    }
    return found;
  }

  /** Once for all that are lost before it is their turn. */
  private takeOut(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    const { table, log } = this.tools;
    const taken = (): Set<string> => {
      this.isWaiting = false;
      const names = new Set(this.recent.keys());
      this.recent.clear();
      return names;
    };
    let hasBegun = false;
    const revised = table.revise(async (claims, changes) => {
      hasBegun = true;
      const names = taken();
      const found = await markLost(claims, this.unattended(), names, changes);
      for (const name of names) if (!found.has(name)) this.others.add(name);
      for (const target of found)
        log.warn({ target }, 'a target stopped accepting connections while its controller is away: not used until it is confirmed');
    });
    const failed = (error: unknown): void => {
      if (!hasBegun) taken();
      const reason = String(error);
      // Up to ten times a second for each target.
      if (reason !== this.failure) log.error({ error: reason }, 'targets that were lost while their controller is away are still used');
      this.failure = reason;
    };
    revised.then(() => {
      this.failure = null;
    }, failed);
  }
}
