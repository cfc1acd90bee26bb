import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { ServiceEvent } from '../../../shared/wire/events.ts';
import { ApiError } from '../http/errors.ts';
import type { EventFeed } from './event-feed.ts';

/** How many streams may be open at once. The other connections of the Admin API remain for controllers and commands. */
const MAX_STREAMS = 256;
/** When one that was rejected should ask again (s). */
const RETRY_SECS = 15;
const HEARTBEAT_MS = 20_000;
/** A reader that leaves this many bytes unread is cut off. */
const MAX_UNREAD = 1_048_576;

/** Sends an event. If it describes a `state`, it replaces an earlier event of that state that the reader has not been sent yet. */
export type Send = (text: string, state?: string) => void;

/** Takes a function that sends an event; returns one that ends the subscription. */
export type Subscribe = (send: Send) => () => void;

/** Sends each change as one event. */
export const eventsOf =
  (feed: EventFeed): Subscribe =>
  (send) =>
    feed.subscribe(({ kind, ...data }: ServiceEvent) => send(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`));

/** The streams of server-sent events. */
export class EventStreams {
  private readonly clock: Clock;
  private open = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Sends events to one reader, until it disconnects. One that reads slowly gets only the newest of each state. It gets no heartbeats
   * either, so that the idle timeout of its connection ends one that reads nothing at all. @throws ApiError if too many streams are open.
   */
  serve(response: ServerResponse, subscriptions: readonly Subscribe[]): void {
    if (this.open >= MAX_STREAMS) throw new ApiError('tooManyStreams', '', { headers: { 'retry-after': `${RETRY_SECS}` } });
    this.open++;
    response.once('close', () => this.open--);
    serve(response, subscriptions, this.clock);
  }
}

function serve(response: ServerResponse, subscriptions: readonly Subscribe[], clock: Clock): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': connected\n\n');
  const waiting = new Map<string, string>();
  const send: Send = (text, state) => {
    // One event may be longer: the history of a year has half a megabyte.
    if (response.writableLength > MAX_UNREAD) response.destroy();
    else if (state !== undefined && response.writableNeedDrain) waiting.set(state, text);
    else response.write(text);
  };
  response.on('drain', () => {
    for (const [state, text] of waiting) {
      if (response.writableNeedDrain) return;
      waiting.delete(state);
      send(text, state);
    }
  });
  const heartbeat = () => {
    if (!response.writableNeedDrain) send(': alive\n\n');
  };
  const stops = [...subscriptions.map((subscribe) => subscribe(send)), clock.every(HEARTBEAT_MS, heartbeat)];
  response.once('close', () => {
    for (const stop of stops) stop();
  });
}
