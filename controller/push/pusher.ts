import { type AdminAddress, formatAdminAddress } from '../../shared/api/admin-address.ts';
import { AdminUnreachable } from '../../shared/api/admin-client.ts';
import { type ApplyStream, openApplyStream } from '../../shared/api/apply-stream.ts';
import { type Backoff, createBackoff } from '../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { Applied, ReloadOutcome, StreamLine, TargetReport } from '../../shared/wire/apply.ts';
import type { Truth } from '../reconcile/reconciler.ts';
import { type Acknowledged, difference, type Frame, type Identity, needsWhole, wholeTruth } from './frame.ts';

/** A domain that another controller owns is asked for again this often: the owner may have gone. */
const CONFLICT_RETRY_MS = 30_000;
/** What a reload finds goes into the frame that answers it; other frames wait for it this long at most. */
const RELOAD_PAUSE_MS = 1_000;
/** Frames are written in pieces of about this many characters. */
const PIECE = 65_536;

/** What a push task tells those who watch it. */
export type PushEvent =
  | { readonly kind: 'applied'; readonly applied: Applied; readonly whole: boolean; readonly truth: Truth }
  | { readonly kind: 'refused'; readonly error: string }
  | { readonly kind: 'disconnected'; readonly reason: string }
  | ({ readonly kind: 'upstream' } & TargetReport);

export type PushOptions = {
  readonly address: AdminAddress;
  readonly token: string | undefined;
  readonly identity: Identity;
  readonly clock: Clock;
  readonly random: Random;
  /** The newest truth; undefined until there is one. */
  readonly truth: () => Truth | undefined;
  /** Re-reads what can be re-read. @returns its errors, none when the truth now holds it. */
  readonly reload: () => Promise<readonly string[]>;
  readonly watch: (event: PushEvent) => void;
};

/** A data plane that is away is tried at least this often (ms): once it starts, it waits two seconds for the word of its controllers. */
const AWAY_MS = 1_000;

/** The task of one data plane: keeps its apply stream open and its table equal to the truth. */
export class Pusher {
  readonly address: string;
  private readonly options: PushOptions;
  private readonly backoff: Backoff;
  private revision = 0;
  private session: Session | undefined;
  private stopped = false;
  private woken: () => void = () => undefined;

  constructor(options: PushOptions) {
    this.address = formatAdminAddress(options.address);
    this.options = options;
    this.backoff = createBackoff(options.random);
  }

  /** The truth changed. */
  wake(): void {
    this.woken();
    this.session?.pump();
  }

  /** Runs until the signal is aborted. Never throws: a data plane that is away is tried again, 100 ms to 1 s apart, one that refuses up to 5 s. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.stop(), { once: true });
    while (!signal.aborted) {
      if (!this.options.truth()) {
        await new Promise<void>((resolve) => {
          this.woken = resolve;
        });
        continue;
      }
      const { reason, away } = await this.converse();
      if (signal.aborted) return;
      this.options.watch({ kind: 'disconnected', reason });
      const wait = this.backoff.next();
      await sleep(this.options.clock, away ? Math.min(wait, AWAY_MS) : wait, signal);
    }
  }

  private stop(): void {
    this.stopped = true;
    this.woken();
    this.session?.stream.close();
  }

  /** One stream from its opening to its end. @returns why it ended, and whether nobody was there to end it in order. */
  private async converse(): Promise<{ reason: string; away: boolean }> {
    const stream = openApplyStream(this.options);
    const session = new Session(this.options, stream, this.backoff, () => ++this.revision);
    this.session = session;
    if (this.stopped) stream.close();
    try {
      session.pump();
      for await (const line of stream.lines) session.hear(line);
      return { reason: 'the data plane ended the stream', away: false };
    } catch (error) {
      if (error instanceof AdminUnreachable) return { reason: error.reason, away: true };
      throw error;
    } finally {
      session.end();
      this.session = undefined;
    }
  }
}

/** One open stream: at most one frame is on its way, and nothing counts as said before it is acknowledged. */
class Session {
  readonly stream: ApplyStream;
  private readonly options: PushOptions;
  private readonly backoff: Backoff;
  private readonly nextRevision: () => number;
  private readonly again = new Set<string>();
  private readonly conflicted = new Set<string>();
  private readonly reloads: ReloadOutcome[] = [];
  private readonly pauses = new Set<() => void>();
  private readonly stopRetry: () => void;
  private acknowledged: Acknowledged | undefined;
  private onItsWay: { frame: Frame; truth: Truth; reload: ReloadOutcome | undefined } | undefined;
  private cancelRetry: (() => void) | undefined;
  private ended = false;

  constructor(options: PushOptions, stream: ApplyStream, backoff: Backoff, nextRevision: () => number) {
    this.options = options;
    this.stream = stream;
    this.backoff = backoff;
    this.nextRevision = nextRevision;
    this.stopRetry = options.clock.every(CONFLICT_RETRY_MS, () => {
      for (const domain of this.conflicted) this.again.add(domain);
      this.pump();
    });
  }

  end(): void {
    this.ended = true;
    this.stopRetry();
    this.cancelRetry?.();
    this.stream.close();
  }

  /** Says what is to be said, unless an answer or a pause is awaited. */
  pump(): void {
    const truth = this.options.truth();
    if (this.ended || this.onItsWay || this.cancelRetry || this.pauses.size > 0 || !truth) return;
    const reload = this.reloads[0];
    const frame = this.nextFrame(truth, reload);
    if (!frame) return;
    this.again.clear();
    this.onItsWay = { frame, truth, reload };
    this.write(frame).catch((error: unknown) => {
      // The reading side ends with the same failure and reports it.
      if (!(error instanceof AdminUnreachable)) throw error;
    });
  }

  hear(line: StreamLine): void {
    if ('applied' in line) this.applied(line.applied);
    else if ('refused' in line) this.refused(line.refused.error);
    else if ('reload' in line) void this.answerReload(line.reload.id);
    else if ('routes' in line) {
      this.again.add(line.routes.domain);
      this.pump();
    } else if ('upstream' in line) this.options.watch({ kind: 'upstream', ...line.upstream });
  }

  private nextFrame(truth: Truth, reload: ReloadOutcome | undefined): Frame | undefined {
    const { identity } = this.options;
    const base = this.acknowledged;
    if (!base || needsWhole(base, truth)) return wholeTruth(identity, this.nextRevision(), truth, reload);
    return difference(identity, base, this.nextRevision(), truth, this.again, reload);
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
    const sent = this.onItsWay;
    if (!sent || applied.revision !== sent.frame.becomes.revision) return this.stream.close();
    this.onItsWay = undefined;
    this.acknowledged = sent.frame.becomes;
    if (sent.reload) this.reloads.splice(this.reloads.indexOf(sent.reload), 1);
    this.backoff.reset();
    if (sent.frame.whole) this.conflicted.clear();
    for (const { domain, result } of applied.results) {
      if (result === 'conflicted') this.conflicted.add(domain);
      else this.conflicted.delete(domain);
    }
    this.options.watch({ kind: 'applied', applied, whole: sent.frame.whole, truth: sent.truth });
    this.pump();
  }

  /** Whatever the data plane has now, the whole truth is right again. */
  private refused(error: string): void {
    this.onItsWay = undefined;
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
