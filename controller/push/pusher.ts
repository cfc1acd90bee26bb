import { type AdminAddress, formatAdminAddress } from '../../shared/api/admin-address.ts';
import { AdminUnreachable } from '../../shared/api/admin-client.ts';
import { type ApplyStream, openApplyStream } from '../../shared/api/apply-stream.ts';
import { type Backoff, createBackoff } from '../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { ADDED_LINES, Applied, ReloadOutcome, StreamLine, TargetReport } from '../../shared/wire/apply.ts';
import { certificateKey } from '../desired/desire.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import { type ConditionLines, type ConditionsSource, conditionLines, NO_CONDITIONS_SENT, type SentConditions } from './condition-lines.ts';
import { type Acknowledged, type ControllerIdentity, deltaFrame, type Frame, fullFrame, needsFullFrame } from './frame.ts';
import { instanceAt } from './instance-at.ts';
import type { Reached } from './reached.ts';

/**
 * How often a domain that another controller owns is requested again, since the owner may have gone, and a certificate that was not stored
 * is sent again, since the disk may have space again.
 */
const RETRY_MS = 30_000;
/** Changes found by a reload are sent in the frame that answers it; other frames wait this long for it at most. */
const RELOAD_PAUSE_MS = 1_000;
/** Conditions are sent at most this often: the health of a target may change many times a second. */
const CONDITIONS_MS = 1_000;
/** Frames are written in pieces of about this many characters. */
const PIECE = 65_536;

/** Events that a push task reports. */
export type PushEvent =
  | { readonly kind: 'applied'; readonly applied: Applied; readonly whole: boolean; readonly state: DesiredState }
  /** The state needs no frame: the data plane serves it already. */
  | { readonly kind: 'unchanged'; readonly state: DesiredState }
  | { readonly kind: 'refused'; readonly error: string }
  /** `away`: it could not be reached. */
  | { readonly kind: 'disconnected'; readonly reason: string; readonly away: boolean }
  /** It is the data plane of another address, which is used instead. */
  | { readonly kind: 'duplicate'; readonly of: string }
  | ({ readonly kind: 'upstream' } & TargetReport);

export type PushOptions = {
  readonly address: AdminAddress;
  readonly token: string | undefined;
  readonly identity: ControllerIdentity;
  readonly clock: Clock;
  readonly random: Random;
  /** The latest desired state; undefined until there is one. */
  readonly state: () => DesiredState | undefined;
  /** Re-reads what can be re-read. @returns its errors; none if the desired state now contains it. */
  readonly reload: () => Promise<readonly string[]>;
  readonly watch: (event: PushEvent) => void;
  /** What is known of the routes, for data planes that accept it. */
  readonly conditions: ConditionsSource;
  /** What answers at all addresses of the controller. */
  readonly reached: Reached;
};

/** How often it is checked whether an address has become that of another data plane (ms). */
const DUPLICATE_MS = 1_000;
/** How often an address of a data plane that has another one is asked whether it has become that of another data plane (ms). */
const ASK_MS = 10_000;
/** The longest delay (ms) between attempts to reach a data plane, which waits two seconds for its controllers after its start. */
const AWAY_MS = 1_000;

/** That of the last frame. A frame that turns out to be needless has none. */
type Revisions = { last: number };

/** Why a stream ended, whether that was a connection failure, or silence, and whether a frame was acknowledged. */
type Ended = { readonly reason: string; readonly away: boolean; readonly silent: boolean; readonly acknowledged: boolean };

/** The task for one data plane: keeps its apply stream open and its table equal to the desired state. */
export class Pusher {
  readonly address: string;
  private readonly options: PushOptions;
  private readonly backoff: Backoff;
  private readonly revisions: Revisions = { last: 0 };
  private session: Session | undefined;
  private stopped = false;
  private woken: () => void = () => undefined;

  constructor(options: PushOptions) {
    this.address = formatAdminAddress(options.address);
    this.options = options;
    this.backoff = createBackoff(options.random);
  }

  /** The desired state has changed. */
  wake(): void {
    this.woken();
    this.session?.pump();
  }

  /**
   * Runs until the signal is aborted. Never throws: an unreachable data plane is retried after 100 ms to 1 s, one that refuses after up
   * to 5 s, and the data plane of another address only once one of them has another data plane.
   */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.stop(), { once: true });
    while (!signal.aborted) {
      if (!this.options.state()) {
        await new Promise<void>((resolve) => {
          this.woken = resolve;
        });
        continue;
      }
      const { reason, away, silent, acknowledged } = await this.converse();
      if (signal.aborted) return;
      const { clock, reached, watch } = this.options;
      // A frame to the data plane of an earlier address is not acknowledged, either. That there is one is known then.
      if (silent || (!acknowledged && (away || reached.earlier(this.address) === null))) reached.lost(this.address);
      const of = reached.earlier(this.address);
      watch(of === null ? { kind: 'disconnected', reason, away } : { kind: 'duplicate', of });
      if (of === null) {
        const wait = this.backoff.next();
        await sleep(clock, away ? Math.min(wait, AWAY_MS) : wait, signal);
      }
      await this.whileDuplicate(signal);
    }
  }

  /** Waits until this is no longer another address of a data plane that is used. */
  private async whileDuplicate(signal: AbortSignal): Promise<void> {
    const { address, token, clock, reached } = this.options;
    let askedAt = clock.monotonic();
    const ask = async (): Promise<void> => {
      const instance = await instanceAt(address, token);
      if (instance === null) reached.lost(this.address);
      else reached.at(this.address, instance);
    };
    while (!signal.aborted && reached.earlier(this.address) !== null) {
      await sleep(clock, DUPLICATE_MS, signal);
      if (signal.aborted || clock.monotonic() - askedAt < ASK_MS) continue;
      await Promise.race([ask(), sleep(clock, ASK_MS, signal)]);
      askedAt = clock.monotonic();
    }
  }

  private stop(): void {
    this.stopped = true;
    this.woken();
    this.session?.stream.close();
  }

  /** A frame was acknowledged. @returns whether another address of the data plane is used. */
  private isDuplicate(instance: string): boolean {
    const { reached } = this.options;
    reached.at(this.address, instance);
    return reached.earlier(this.address) !== null;
  }

  /** One stream from opening to end. */
  private async converse(): Promise<Ended> {
    const stream = openApplyStream(this.options);
    const session = new Session(this.options, stream, this.backoff, this.revisions, (instance) => this.isDuplicate(instance));
    this.session = session;
    if (this.stopped) stream.close();
    try {
      session.pump();
      for await (const line of stream.lines) session.receive(line);
      return { reason: 'the data plane ended the stream', away: false, silent: false, acknowledged: session.isAcknowledged };
    } catch (error) {
      if (!(error instanceof AdminUnreachable)) throw error;
      return { reason: error.reason, away: true, silent: error.hangs, acknowledged: session.isAcknowledged };
    } finally {
      session.end();
      this.session = undefined;
    }
  }
}

const CONDITION: (typeof ADDED_LINES)[number] = 'condition';

/** One open stream: at most one frame is in flight, and nothing counts as sent until it is acknowledged. */
class Session {
  readonly stream: ApplyStream;
  private readonly options: PushOptions;
  private readonly backoff: Backoff;
  private readonly revisions: Revisions;
  private readonly isDuplicate: (instance: string) => boolean;
  private readonly again = new Set<string>();
  private readonly conflicted = new Set<string>();
  /** The keys of certificates that the data plane did not store, and of those that are to be sent again. */
  private readonly unstored = new Set<string>();
  private readonly unstoredAgain = new Set<string>();
  private readonly reloads: ReloadOutcome[] = [];
  private readonly pauses = new Set<() => void>();
  private readonly stopRetry: () => void;
  private acknowledged: Acknowledged | undefined;
  /** What the data plane serves. */
  private current: DesiredState | undefined;
  private inFlight: { frame: Frame; state: DesiredState; reload: ReloadOutcome | undefined } | undefined;
  private cancelRetry: (() => void) | undefined;
  /** Whether the data plane accepts conditions; older ones end the stream at a line that they don't know. */
  private takesConditions = false;
  /** When conditions may be sent again (ms, monotonic), and the timer for it. */
  private conditionsAt = Number.NEGATIVE_INFINITY;
  private cancelConditions: (() => void) | undefined;
  private ended = false;

  /** `isDuplicate` gets the instance that has acknowledged a frame. */
  constructor(
    options: PushOptions,
    stream: ApplyStream,
    backoff: Backoff,
    revisions: Revisions,
    isDuplicate: (instance: string) => boolean,
  ) {
    this.options = options;
    this.isDuplicate = isDuplicate;
    this.stream = stream;
    this.backoff = backoff;
    this.revisions = revisions;
    this.stopRetry = options.clock.every(RETRY_MS, () => {
      for (const domain of this.conflicted) this.again.add(domain);
      for (const key of this.unstored) this.unstoredAgain.add(key);
      this.pump();
    });
  }

  end(): void {
    this.ended = true;
    this.stopRetry();
    this.cancelRetry?.();
    this.cancelConditions?.();
    this.stream.close();
  }

  get isAcknowledged(): boolean {
    return this.acknowledged !== undefined;
  }

  /** Sends what is pending, unless it is waiting for a response or a pause. */
  pump(): void {
    const state = this.options.state();
    if (this.ended || this.inFlight || this.cancelRetry || this.pauses.size > 0 || !state) return;
    const reload = this.reloads[0];
    const frame = this.nextFrame(state, reload);
    if (!frame) {
      if (state !== this.current) this.options.watch({ kind: 'unchanged', state });
      this.current = state;
      return;
    }
    this.again.clear();
    this.unstoredAgain.clear();
    this.revisions.last = frame.becomes.revision;
    this.inFlight = { frame, state, reload };
    this.write(frame).catch((error: unknown) => {
      // The reading side ends with the same failure and reports it.
      if (!(error instanceof AdminUnreachable)) throw error;
    });
  }

  receive(line: StreamLine): void {
    if ('applied' in line) this.applied(line.applied);
    else if ('refused' in line) this.refused(line.refused.error);
    else if ('reload' in line) void this.answerReload(line.reload.id);
    else if ('routes' in line) {
      this.again.add(line.routes.domain);
      this.pump();
    } else if ('upstream' in line) this.options.watch({ kind: 'upstream', ...line.upstream });
  }

  private nextFrame(state: DesiredState, reload: ReloadOutcome | undefined): Frame | undefined {
    const base = this.acknowledged;
    const content = { identity: this.options.identity, revision: this.revisions.last + 1, state, reload };
    if (!base || needsFullFrame(base, state)) return fullFrame({ ...content, conditions: this.conditions(NO_CONDITIONS_SENT, true) });
    const again = { routes: this.again, certificates: this.unstoredAgain };
    return deltaFrame(base, again, { ...content, conditions: this.conditions(base.conditions, this.again.size > 0) });
  }

  /** The conditions to send now. `urgent`: they belong to routes that are sent. */
  private conditions(sent: SentConditions, urgent: boolean): ConditionLines {
    const { conditions, clock } = this.options;
    const nothing = { lines: [], becomes: sent };
    if (!this.takesConditions || (conditions.version === sent.version && this.again.size === 0)) return nothing;
    const wait = this.conditionsAt - clock.monotonic();
    if (wait > 0 && !urgent) {
      this.cancelConditions ??= clock.after(wait, () => {
        this.cancelConditions = undefined;
        this.pump();
      });
      return nothing;
    }
    this.conditionsAt = clock.monotonic() + CONDITIONS_MS;
    return conditionLines(conditions, sent, this.again);
  }

  private async write(frame: Frame): Promise<void> {
    let piece = '';
    for (const line of frame.lines) {
      piece += line;
      if (piece.length < PIECE) continue;
      await this.stream.write(piece);
      piece = '';
    }
    await this.stream.write(piece);
  }

  private applied(applied: Applied): void {
    const sent = this.inFlight;
    if (!sent || applied.revision !== sent.frame.becomes.revision || this.isDuplicate(applied.instance)) return this.stream.close();
    this.inFlight = undefined;
    this.acknowledged = sent.frame.becomes;
    this.current = sent.state;
    this.takesConditions ||= applied.accepts?.includes(CONDITION) ?? false;
    if (sent.reload) this.reloads.splice(this.reloads.indexOf(sent.reload), 1);
    this.backoff.reset();
    this.noteResults(applied, sent.frame.whole);
    this.options.watch({ kind: 'applied', applied, whole: sent.frame.whole, state: sent.state });
    this.pump();
  }

  private noteResults({ results, certificates = [] }: Applied, whole: boolean): void {
    if (whole) for (const known of [this.conflicted, this.unstored]) known.clear();
    for (const { domain, result } of results) {
      if (result === 'conflicted') this.conflicted.add(domain);
      else this.conflicted.delete(domain);
    }
    for (const { domains, result } of certificates) {
      const key = certificateKey(domains);
      if (result === 'conflicted' || result === 'rejected') this.unstored.add(key);
      else this.unstored.delete(key);
    }
  }

  /** The complete state is correct for a data plane in any state. */
  private refused(error: string): void {
    this.inFlight = undefined;
    this.acknowledged = undefined;
    this.options.watch({ kind: 'refused', error });
    this.cancelRetry ??= this.options.clock.after(this.backoff.next(), () => {
      this.cancelRetry = undefined;
      this.pump();
    });
  }

  private async answerReload(id: string): Promise<void> {
    const proceed = () => {
      cancel();
      if (this.pauses.delete(proceed)) this.pump();
    };
    const cancel = this.options.clock.after(RELOAD_PAUSE_MS, proceed);
    this.pauses.add(proceed);
    const errors = await this.options.reload();
    this.reloads.push({ id, errors: [...errors] });
    this.pauses.delete(proceed);
    cancel();
    this.pump();
  }
}
