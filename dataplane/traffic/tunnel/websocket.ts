import { createHash } from 'node:crypto';
import type { Agent, ClientRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { request } from '../../../shared/runtime/http/node-http.ts';
import { httpDate } from '../codec/date.ts';
import { fieldIn, withoutFields } from '../codec/http1/kept-lines.ts';
import { withoutOws } from '../codec/http1/protocols.ts';
import type { ResponseHead } from '../codec/http1/response-head.ts';
import type { Exchange, TunnelStream } from '../exchange/exchange.ts';
import { guarded } from '../exchange/faults.ts';
import { switchedFields } from './reply-head.ts';

/** The GUID that a key is hashed with (RFC 6455 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Fields of the key handshake, which exists only in HTTP/1.1 (RFC 8441 5). */
const HTTP1_FIELDS = new Set(['sec-websocket-accept']);

/** Fields that make no sense without a body and make the library throw (RFC 9110 6.6.2). */
const BODY_FIELDS = new Set(['trailer']);

/** Sends a head that we wrote, unchanged, over the connection of an agent. */
export function sendHead(head: string, agent: Agent, options: { readonly maxHeaderSize: number }): ClientRequest {
  const [line = '', ...lines] = withoutFields(head, BODY_FIELDS).split('\r\n');
  const [method = '', path = ''] = line.split(' ');
  const headers = lines
    .filter((field) => field !== '')
    .flatMap((field) => [field.slice(0, field.indexOf(':')), withoutOws(field.slice(field.indexOf(':') + 1))]);
  const outgoing = request({ method, path, headers, agent, ...options });
  // Errors are reported to the listener that waits for the response; there is none if the request could not be started.
  outgoing.on('error', () => outgoing.destroy());
  outgoing.end();
  return outgoing;
}

/** Whether a 101 matches the key that was sent with the request, which the client can't verify itself (RFC 6455 4.1). */
export function acceptsKey(x: Exchange, { fields }: ResponseHead): boolean {
  const expected = createHash('sha1')
    .update(`${fieldIn(x.fields, 'sec-websocket-key')}${GUID}`)
    .digest('base64');
  return fieldIn(fields.kept, 'sec-websocket-accept') === expected;
}

/**
 * Accepts the upgrade on the client's stream and relays bytes in both directions with backpressure. `early` is what the target has sent
 * already.
 */
export function acceptOnStream(x: Exchange, stream: TunnelStream, { fields }: ResponseHead, upstream: Duplex, early: Buffer): void {
  const kept = withoutFields(fields.kept, HTTP1_FIELDS) + (fields.hasDate ? '' : httpDate());
  stream.accept(switchedFields(x, kept, fields));
  if (early.length > 0) stream.write(early);
  x.bytesSent += early.length;
  upstream.pipe(stream);
  stream.pipe(upstream);
  upstream.on('data', ({ length }: Buffer) => {
    x.bytesSent += length;
  });
  const ended = (): void => {
    // If the target's connection was aborted, the client's is too; after a proper end the client may still finish.
    if (stream.writableEnded) stream.release();
    else stream.cancel();
    // The time limit for its last bytes still applies.
    stream.resume();
    x.client.reattach(x);
  };
  upstream.once('close', guarded(x.client, ended));
}
