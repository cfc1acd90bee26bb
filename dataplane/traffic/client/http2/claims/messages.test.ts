import { answered, ask, claims, forwarded, POST, streamError } from '../../../testing/http2/claims.ts';
import { block, CODE, type Field, FLAG, FRAME, type Frames, head } from '../../../testing/http2/frames.ts';

const malformed = streamError(1, CODE.protocol);
const without = (name: string): Field[] => head().filter(([one]) => one !== name);
/** A request of exactly these fields, without a body. */
const exactly =
  (...fields: readonly Field[]) =>
  (client: Frames): Frames =>
    client.request(1, fields);
/** The usual request with more fields. */
const adding = (...fields: readonly Field[]) => exactly(...head(...fields));
/** A body and then these trailers. */
const trailing =
  (flags: number, ...fields: readonly Field[]) =>
  (client: Frames): Frames =>
    client
      .request(1, head(POST, ['trailer', 'x-sum']), 0)
      .send(FRAME.data, 0, 1, 'body')
      .send(FRAME.headers, FLAG.endHeaders | flags, 1, block(fields));

claims('a request (RFC 9113 8.1)', [
  ['with GET is answered', (client) => ask(client, 1), answered()],
  ['with HEAD is answered', (client) => ask(client, 1, [[':method', 'HEAD']]), answered()],
  ['with POST is answered', (client) => ask(client, 1, [POST], 'body'), forwarded('body')],
  ['with trailers is answered', trailing(FLAG.endStream, ['x-sum', '7']), forwarded('x-sum: 7')],
  ['whose second HEADERS do not end the stream is malformed', trailing(0, ['x-sum', '7']), malformed],
]);

claims('fields (RFC 9113 8.2)', [
  ['with an upper-case name are malformed', adding(['X-Up', 'a']), malformed],
  ['of an HTTP/1.1 connection are malformed (8.2.2)', adding(['connection', 'keep-alive']), malformed],
  ['TE beyond trailers are malformed (8.2.2)', adding(['te', 'trailers, deflate']), malformed],
  ['TE: trailers are not', adding(['te', 'trailers']), answered()],
]);

claims('pseudo-header fields (RFC 9113 8.3)', [
  ['that are unknown are malformed', adding([':test', 'ok']), malformed],
  ['of a response are malformed', adding([':status', '200']), malformed],
  ['in trailers are malformed', trailing(FLAG.endStream, [':method', 'POST']), malformed],
  ['in trailers that do not end the stream, too', trailing(0, [':method', 'POST']), malformed],
  ['after regular fields are malformed', exactly(['x', 'y'], ...head()), malformed],
  ['an empty :path is malformed (8.3.1)', adding([':path', '']), malformed],
  ...[':method', ':scheme', ':path'].flatMap(
    (name) =>
      [
        [`no ${name} is malformed (8.3.1)`, exactly(...without(name)), malformed],
        [`${name} twice is malformed (8.3.1)`, exactly(...head(), ...head().filter(([one]) => one === name)), malformed],
      ] as const,
  ),
]);

/** A body in these pieces, whose length is said to be `length`. */
const lasting =
  (length: number, ...pieces: readonly string[]) =>
  (client: Frames): Frames => {
    client.request(1, head(POST, ['content-length', `${length}`]), 0);
    for (const [at, piece] of pieces.entries()) client.send(FRAME.data, at === pieces.length - 1 ? FLAG.endStream : 0, 1, piece);
    return client;
  };
claims('a body (RFC 9113 8.1.1)', [
  ['of its Content-Length is forwarded', lasting(8, 'some', 'body'), forwarded('somebody')],
  ['longer than its Content-Length is malformed', lasting(1, 'body'), malformed],
  ['longer than its Content-Length by its last piece is malformed', lasting(4, 'body', 'body'), malformed],
  ['shorter than its Content-Length is malformed', lasting(9, 'some', 'body'), malformed],
]);
