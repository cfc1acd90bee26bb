import { type Clock, endRead } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { LineRing } from '../../ledger/line-ring.ts';
import type { RefusedHead } from '../client/client-tools.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Failure } from '../exchange/failure.ts';
import type { Countries } from '../match/countries.ts';
import type { MirrorResult, PassedResult, TrafficReport } from '../protocol.ts';
import type { TargetName } from '../upstream/target/endpoint.ts';
import { AccessLines, type AccessLinesTools } from './access-lines.ts';
import { type Mirrored, Recorder } from './recorder.ts';
import { RefusedHeads } from './refused-heads.ts';
import { RequestLog } from './request-log.ts';
import { SpanLines } from './span-lines.ts';

export type TrafficRecordTools = {
  readonly clock: Clock;
  readonly log: Log;
  /** The key for hashing visitors' addresses. */
  readonly hashKey: Uint8Array;
  readonly countries: Countries;
  /** Whether the log level includes `debug`. */
  readonly debug: boolean;
  readonly accessLog: Omit<AccessLinesTools, 'clock'>;
  /** Where the spans of sampled requests go. */
  readonly spans: LineRing;
};

/** Counts and logs the traffic of one worker. */
export class TrafficRecord {
  private readonly clock: Clock;
  private readonly recorder: Recorder;
  private readonly requestLog: RequestLog;
  private readonly refusedHeads: RefusedHeads;
  private readonly accessLines: AccessLines;
  private readonly spanLines: SpanLines;

  constructor({ clock, log, hashKey, countries, debug, accessLog, spans }: TrafficRecordTools) {
    this.clock = clock;
    this.recorder = new Recorder(hashKey, countries);
    this.requestLog = new RequestLog(log, debug);
    this.refusedHeads = new RefusedHeads(log);
    this.accessLines = new AccessLines({ clock, ...accessLog });
    this.spanLines = new SpanLines(clock, spans);
  }

  /** A target has accepted an upgrade; the request is counted now. */
  upgraded(x: Exchange): void {
    x.counted = true;
    this.recorder.record(x, this.clock.monotonic());
  }

  /** The exchange is over, successfully or not. */
  ended(x: Exchange): void {
    let now = this.clock.monotonic();
    if (now === x.startedAt) {
      // It was answered within the read that it arrived with, during which the clock stands still.
      endRead();
      now = this.clock.monotonic();
    }
    if (x.counted) this.recorder.addBytes(x, x.bytesSent);
    else this.recorder.record(x, now);
    this.requestLog.ended(x, now);
    this.accessLines.ended(x, now);
    if (x.trace !== null && x.trace.spans !== null) this.spanLines.ended(x, x.trace, x.trace.spans, now);
  }

  /** A head was refused before there was an exchange. */
  refused(head: RefusedHead, bytes: number): void {
    this.recorder.refused(head.status, bytes);
    this.refusedHeads.note(head, this.clock.monotonic());
    this.accessLines.refused(head);
  }

  /** A TLS connection of a route was passed through, or was to be. */
  passed(pattern: string, result: PassedResult): void {
    this.recorder.passed(pattern, result, 0, 0);
  }

  /** Bytes of such connections, from clients and to them. */
  moved(pattern: string, received: number, sent: number): void {
    this.recorder.passed(pattern, null, received, sent);
  }

  mirrored(request: Mirrored, result: MirrorResult): void {
    this.recorder.mirrored(request, result);
  }

  targetFailed(target: TargetName, failure: Failure): void {
    this.recorder.targetFailed(target, failure, this.clock.now());
  }

  /** All counts since the last call, in parts; the last part is the generator's result. */
  drain(): Generator<TrafficReport, TrafficReport> {
    return this.recorder.drain();
  }

  /** Called periodically, and a last time when the worker shuts down; `now` on the monotonic clock, in ms. */
  sweep(now: number): void {
    this.requestLog.tick(now);
  }

  end(now: number): void {
    this.requestLog.end(now);
  }
}
