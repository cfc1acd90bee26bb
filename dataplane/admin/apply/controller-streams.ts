import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Applied, Apply, ReloadOutcome, StreamLine, TargetReport } from '../../../shared/wire/apply.ts';
import type { EventFeed } from '../events/event-feed.ts';

/** An open apply stream. */
export type OpenStream = { readonly header: Apply; send(line: StreamLine): void; end(): void };

/** The result of a reload: what was applied, or the errors in the file. */
export type ReloadResult = { readonly errors: readonly string[]; readonly applied: Applied | null };

/** Tracks the connected controllers and sends lines to them. */
export class ControllerStreams {
  private readonly open = new Map<string, OpenStream>();
  /** When each controller that is away disconnected (ms since 1970). */
  private readonly leftAt = new Map<string, number>();
  private readonly reloads = new Map<string, (result: ReloadResult) => void>();
  private readonly events: EventFeed;
  private readonly random: Random;
  private readonly clock: Clock;
  private readonly targetReports: () => readonly TargetReport[];

  /** `targetReports`: the health of targets, sent to a controller when it connects. */
  constructor(events: EventFeed, random: Random, clock: Clock, targetReports: () => readonly TargetReport[]) {
    this.events = events;
    this.random = random;
    this.clock = clock;
    this.targetReports = targetReports;
  }

  /** Called when a frame of the stream has been applied. The stream becomes its controller's current one, and an earlier one is ended. */
  joined(stream: OpenStream): void {
    const id = stream.header.controller;
    const before = this.open.get(id);
    if (before === stream) return;
    this.open.set(id, stream);
    this.leftAt.delete(id);
    before?.end();
    for (const upstream of this.targetReports()) stream.send({ upstream });
    if (before === undefined) this.events.emit({ kind: 'controller', controller: id, connected: true });
  }

  left(stream: OpenStream): void {
    const id = stream.header.controller;
    if (this.open.get(id) !== stream) return;
    this.open.delete(id);
    this.leftAt.set(id, this.clock.now());
    this.events.emit({ kind: 'controller', controller: id, connected: false });
  }

  isConnected(controller: string): boolean {
    return this.open.has(controller);
  }

  /** When it disconnected (ms since 1970); undefined if it is connected, or has not been since the start. */
  awaySince(controller: string): number | undefined {
    return this.leftAt.get(controller);
  }

  isReloadable(controller: string): boolean {
    return this.open.get(controller)?.header.reload === true;
  }

  /** Whether a connected controller has a config file that it can re-read. */
  get reloadable(): boolean {
    return [...this.open.values()].some((stream) => stream.header.reload);
  }

  /** Requests a reload. @returns its outcome, or null if none arrives within `withinMs`. */
  reload(withinMs: number): Promise<ReloadResult | null> {
    const id = this.random.hex(8);
    return new Promise((resolve) => {
      const settle = (result: ReloadResult | null) => {
        this.reloads.delete(id);
        cancel();
        resolve(result);
      };
      const cancel = this.clock.after(withinMs, () => settle(null));
      this.reloads.set(id, settle);
      for (const stream of this.open.values()) if (stream.header.reload) stream.send({ reload: { id } });
    });
  }

  /** Called when a frame reports how a reload ended. */
  reloaded(outcome: ReloadOutcome, applied: Applied | null): void {
    this.reloads.get(outcome.id)?.({ errors: outcome.errors, applied });
  }

  /** Sends a line to one controller, if it is connected. */
  send(controller: string, line: StreamLine): void {
    this.open.get(controller)?.send(line);
  }

  broadcast(line: StreamLine): void {
    for (const stream of this.open.values()) stream.send(line);
  }

  closeAll(): void {
    for (const stream of this.open.values()) stream.end();
  }
}
