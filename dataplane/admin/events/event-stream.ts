import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { ServiceEvent } from '../../../shared/wire/events.ts';
import type { EventFeed } from './event-feed.ts';

const HEARTBEAT_MS = 20_000;
/** A reader that leaves this many bytes unread is cut off. */
const MAX_UNREAD = 1_048_576;

/** Takes a function that sends an event; returns one that ends the subscription. */
export type Subscribe = (send: (text: string) => void) => () => void;

/** What happens, as one event each. */
export const eventsOf =
  (feed: EventFeed): Subscribe =>
  (send) =>
    feed.subscribe(({ kind, ...data }: ServiceEvent) => send(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`));

/** Sends server-sent events to one reader, until it disconnects. */
export function serveEvents(response: ServerResponse, subscriptions: readonly Subscribe[], clock: Clock): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': connected\n\n');
  const send = (text: string) => {
    // One event may be longer: the history of a year has half a megabyte.
    if (response.writableLength > MAX_UNREAD) response.destroy();
    else response.write(text);
  };
  const stops = [...subscriptions.map((subscribe) => subscribe(send)), clock.every(HEARTBEAT_MS, () => send(': alive\n\n'))];
  response.once('close', () => {
    for (const stop of stops) stop();
  });
}
