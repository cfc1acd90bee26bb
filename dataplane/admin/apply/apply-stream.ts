import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { ADDED_LINES, APPLY_CONTENT_TYPE, KEEP_ALIVE_MS, SILENCE_MS, type StreamLine } from '../../../shared/wire/apply.ts';
import { SOURCE_FAILED } from '../../../shared/wire/errors.ts';
import type { LiveTable } from '../../table/live-table.ts';
import { type Frame, UnsavedError } from '../../table/table.ts';
import { finishResponse, sendContinue } from '../http/early-answer.ts';
import { ApiError } from '../http/errors.ts';
import type { ControllerStreams, OpenStream } from './controller-streams.ts';
import { ApplyFrameReader } from './frame-reader.ts';
import { LineReader } from './line-reader.ts';

/** A controller that leaves this many bytes unread is cut off. The limit has room for the results of several whole tables. */
const MAX_UNREAD = 67_108_864;

type ApplyStreamOptions = {
  readonly table: LiveTable;
  readonly streams: ControllerStreams;
  readonly clock: Clock;
  readonly log: Log;
  readonly loaded: (errors: readonly string[]) => void;
  /** Addresses of the network interfaces of this machine or container. */
  readonly addresses: () => string[];
};

/**
 * One apply stream: the request carries frames, the response one line per frame plus notices for the controller. The
 * first frame decides the status of the response. Nothing more is read while a frame is being applied, so that a fast
 * controller waits instead of filling memory.
 */
export class ApplyStream implements Pick<OpenStream, 'end' | 'send'> {
  private readonly request: IncomingMessage;
  private readonly response: ServerResponse;
  private readonly parts: ApplyStreamOptions;
  private readonly lines = new LineReader();
  private readonly frames = new ApplyFrameReader();
  private joined: OpenStream | null = null;
  private heardAt: number;

  constructor(request: IncomingMessage, response: ServerResponse, parts: ApplyStreamOptions) {
    this.request = request;
    this.response = response;
    this.parts = parts;
    this.heardAt = parts.clock.monotonic();
  }

  /** Serves the stream to its end. @throws ApiError when the first frame fails; later failures are lines. */
  async serve(): Promise<void> {
    const { clock, streams } = this.parts;
    const stops = [clock.every(KEEP_ALIVE_MS, () => this.keepAlive()), clock.every(1_000, () => this.checkSilence())];
    try {
      sendContinue(this.request, this.response);
      await this.read();
      if (this.response.headersSent) finishResponse(this.request, this.response, clock);
    } catch (error) {
      this.fail(error);
    } finally {
      for (const stop of stops) stop();
      if (this.joined !== null) streams.left(this.joined);
    }
  }

  send(line: StreamLine): void {
    if (!this.response.headersSent || this.response.writableEnded) return;
    this.response.write(`${JSON.stringify(line)}\n`);
    if (this.response.writableLength > MAX_UNREAD) this.response.destroy();
  }

  end(): void {
    // No response has been started before the first frame.
    if (!this.response.headersSent) return void this.request.destroy();
    this.response.end(() => this.request.destroy());
  }

  private async read(): Promise<void> {
    for await (const chunk of this.request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.heardAt = this.parts.clock.monotonic();
      if (this.joined !== null) this.parts.table.noteSignOfLife(this.joined.header.controller);
      for (const line of this.lines.feed(chunk)) if (!(await this.readLine(line))) return;
      this.heardAt = this.parts.clock.monotonic();
    }
    if (!(await this.readLine(this.lines.rest()))) return;
    if (this.frames.open) throw new ApiError('malformedStream', 'the stream ends in the middle of a frame');
    if (!this.response.headersSent) throw new ApiError('malformedStream', 'the stream contains no frame');
  }

  /** @returns whether the stream continues. */
  private async readLine(line: string): Promise<boolean> {
    if (line === '') return true;
    const frame = this.frames.addLine(line);
    return frame === null || this.apply(frame);
  }

  private async apply(frame: Frame): Promise<boolean> {
    const { table, streams } = this.parts;
    const outcome = await table.apply(frame);
    const applied = 'applied' in outcome;
    const first = !this.response.headersSent;
    if (first) this.response.writeHead(applied ? 200 : 409, { 'content-type': APPLY_CONTENT_TYPE, 'cache-control': 'no-store' });
    this.send(first && applied ? { applied: { ...outcome.applied, addresses: this.parts.addresses(), accepts: ADDED_LINES } } : outcome);
    // A controller that reads `refused` on an open stream sends its complete state next; a stale first frame ends the stream.
    if (!applied) return this.joined !== null;
    this.join(frame);
    if (frame.reload !== undefined) streams.reloaded(frame.reload, outcome.applied);
    else if (frame.header.reload)
      this.parts.loaded(frame.problems.filter(({ code }) => code === SOURCE_FAILED).map(({ message }) => message));
    return true;
  }

  private join(frame: Frame): void {
    if (this.joined !== null && this.joined.header.controller !== frame.header.controller) this.parts.streams.left(this.joined);
    if (this.joined?.header.controller !== frame.header.controller)
      this.joined = { header: frame.header, send: (line) => this.send(line), end: () => this.end() };
    this.parts.streams.joined(this.joined);
  }

  private fail(error: unknown): void {
    // The client is gone: an incomplete frame has no effect, and no response can be delivered.
    if (this.response.destroyed) return;
    const known = error instanceof UnsavedError ? new ApiError('unsaved', error.message) : error;
    if (!this.response.headersSent) throw known;
    const { message } = known as Error;
    this.parts.log.warn({ reason: message }, 'closed an apply stream');
    this.send({ refused: { error: message, current: null } });
    finishResponse(this.request, this.response, this.parts.clock);
  }

  private keepAlive(): void {
    if (this.response.headersSent && !this.response.writableEnded) this.response.write('\n');
  }

  private checkSilence(): void {
    if (this.parts.clock.monotonic() - this.heardAt > SILENCE_MS) this.end();
  }
}
