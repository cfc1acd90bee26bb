import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { EventFeed } from './event-feed.ts';

const HEARTBEAT_MS = 20_000;
/** A reader that leaves this many bytes unread is cut off. */
const MAX_UNREAD = 1_048_576;

/** Sends server-sent events to one reader, until it disconnects. */
export function serveEvents(response: ServerResponse, feed: EventFeed, clock: Clock): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  response.write(': connected\n\n');
  const send = (text: string) => {
    response.write(text);
    if (response.writableLength > MAX_UNREAD) response.destroy();
  };
  const stops = [
    feed.subscribe(({ kind, ...data }) => send(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`)),
    clock.every(HEARTBEAT_MS, () => send(': alive\n\n')),
  ];
  response.once('close', () => {
    for (const stop of stops) stop();
  });
}
