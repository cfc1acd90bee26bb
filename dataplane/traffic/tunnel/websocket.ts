import { createHash } from 'node:crypto';
import { type Agent, type ClientRequest, request } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { httpDate } from '../codec/date.ts';
import { fieldIn, withoutFields } from '../codec/http1/fields.ts';
import { withoutOws } from '../codec/http1/protocols.ts';
import type { ResponseHead } from '../codec/http1/response-head.ts';
import { fieldArray } from '../codec/http2/request-text.ts';
import { addedFields } from '../exchange/answer-fields.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { guarded } from '../exchange/faults.ts';
import { cancelStream } from '../io/stream-ends.ts';

/** What a key is hashed with (RFC 6455 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Only a connection of HTTP/1.1 is agreed on by it (RFC 8441 5). */
const OF_HTTP1 = new Set(['sec-websocket-accept']);

/** Of a request that has no body, and for which the library throws (RFC 9110 6.6.2). */
const OF_A_BODY = new Set(['trailer']);

/** Sends a head that we wrote, as it stands, over the connection of an agent. */
export function sendHead(head: string, agent: Agent, options: { readonly maxHeaderSize: number }): ClientRequest {
  const [line = '', ...lines] = withoutFields(head, OF_A_BODY).split('\r\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = lines
    .filter((field) => field !== '')
    .flatMap((field) => [field.slice(0, field.indexOf(':')), withoutOws(field.slice(field.indexOf(':') + 1))]);
  const outgoing = request({ method, path, headers, agent, ...options });
  // Whoever waits for an answer hears of errors; nobody does when that could not be begun.
  outgoing.on('error', () => outgoing.destroy());
  outgoing.end();
  return outgoing;
}

/** Whether an agreement answers the key that was sent with the request, as the client can't find out for itself (RFC 6455 4.1). */
export function answersKey(x: Exchange, { fields }: ResponseHead): boolean {
  const expected = createHash('sha1')
    .update(`${fieldIn(x.fields, 'sec-websocket-key')}${GUID}`)
    .digest('base64');
  return fieldIn(fields.kept, 'sec-websocket-accept') === expected;
}

/**
 * Tells the client that the target has agreed, and passes bytes both ways, each side at the pace of the other. `early` is
 * what the target has said already.
 */
export function join(x: Exchange, stream: ServerHttp2Stream, { fields }: ResponseHead, upstream: Duplex, early: Buffer): void {
  const kept = withoutFields(fields.kept, OF_HTTP1) + (fields.hasDate ? '' : httpDate());
  const added = x.block === null ? '' : addedFields(x.block.fields, fields, x.strictTransport);
  stream.respond(fieldArray(kept + added, [':status', '200']));
  if (early.length > 0) stream.write(early);
  x.bytesSent += early.length;
  upstream.pipe(stream);
  stream.pipe(upstream);
  upstream.on('data', ({ length }: Buffer) => {
    x.bytesSent += length;
  });
  const ended = (): void => {
    // A target that is gone without a farewell is told on as what it is; after one, the client may say its own.
    if (stream.writableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
    else cancelStream(stream);
    // Nobody reads it any more: a stream that has unread bytes would stay. How long the last bytes may take is limited as ever.
    stream.resume();
    x.client.reclaim(x);
  };
  upstream.once('close', guarded(x.client, ended));
}
