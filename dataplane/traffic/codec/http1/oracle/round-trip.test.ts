import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { AnswerWriter } from '../../../client/http1/answer-writer.ts';
import { UNTIL_CLOSE } from '../../../exchange/exchange.ts';
import { AcceptedSocket } from '../../../io/accepted-socket.ts';
import { FORWARDING, sampleExchange } from '../../../testing/samples/sample-exchange.ts';
import { requestHead } from '../../../upstream/request-text.ts';
import { fuzz } from './testing/differential.ts';
import { linesOf } from './testing/expectation.ts';
import { KNOWN_METHODS, Llhttp, type TheirMessage } from './testing/llhttp.ts';
import { type OurMessage, readCut } from './testing/reading.ts';
import { RequestReader } from './testing/request-reader.ts';
import { sampleRequest } from './testing/sample-messages.ts';

const WRITTEN = 50_000;

/** The body as the upstream gets it: with one framing, regardless of the one that it arrived in. */
const framed = ({ chunked, body, trailers }: OurMessage): string => {
  if (!chunked) return body;
  const chunk = body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`;
  return `${chunk}0\r\n${trailers}\r\n`;
};

const framing = ({ chunked, length, method }: OurMessage): string[] => {
  if (chunked) return ['transfer-encoding: chunked'];
  return length > 0 || ['POST', 'PUT', 'PATCH'].includes(method) ? [`content-length: ${Math.max(0, length)}`] : [];
};

const pairs = (fields: readonly string[]): string[] =>
  fields.flatMap((name, at) => (at % 2 === 0 ? [`${name.toLowerCase()}: ${fields[at + 1] ?? ''}`] : []));

test('llhttp reads what we write to an upstream as the request that we read', (t) => {
  const llhttp = new Llhttp('request');
  let written = 0;
  fuzz(t, WRITTEN, (random) => {
    const [message] = readCut(new RequestReader(), Buffer.from(sampleRequest(random), 'latin1'), []).messages;
    if (message === undefined || !message.complete || !KNOWN_METHODS.has(message.method)) return;
    written++;
    const { messages, error } = llhttp.read(Buffer.from(requestHead(sampleExchange(message)) + framed(message), 'latin1'));
    const [read] = messages;
    assert.ok(read !== undefined && messages.length === 1 && error === null, error ?? 'not exactly one message');
    assert.deepEqual(
      [read.method, read.url, read.major, read.minor, read.body, read.complete, read.persists],
      [message.method, message.target, 1, 1, message.body, true, true],
    );
    assert.deepEqual(pairs(read.fields), [...linesOf(message.kept + FORWARDING), ...framing(message)]);
    assert.deepEqual(pairs(read.trailers), linesOf(message.trailers));
    assert.equal(pairs(read.fields).filter((line) => line.startsWith('host:')).length, 1);
  });
  assert.ok(written > 0);
});

let server: Server;
before(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

const ignore = (): void => undefined;
const UNREAD = {
  nextBuffer: () => Buffer.alloc(1),
  receive: ignore,
  onFault: assert.ifError,
  onDrain: ignore,
  onEnd: ignore,
  onClose: ignore,
};

/** What a client receives of a response that `write` writes. */
async function received(write: (writer: AnswerWriter) => void): Promise<Buffer> {
  const accepted = once(server, 'connection');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const chunks: Buffer[] = [];
  client.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [socket]: Socket[] = await accepted;
  assert.ok(socket !== undefined);
  const ours = AcceptedSocket.ofStream(socket);
  ours.read(UNREAD);
  const writer = new AnswerWriter(ours);
  write(writer);
  writer.flush();
  socket.end();
  await once(client, 'close');
  return Buffer.concat(chunks);
}

type Answer = {
  readonly method: string;
  readonly minor: number;
  readonly status: number;
  readonly known: boolean;
  readonly persist: boolean;
};

const ANSWERS: readonly Answer[] = ['GET', 'HEAD'].flatMap((method) =>
  [0, 1].flatMap((minor) =>
    [200, 204, 304, 404].flatMap((status) =>
      [true, false].flatMap((known) => [true, false].map((persist) => ({ method, minor, status, known, persist }))),
    ),
  ),
);

const LONG = 'x'.repeat(5_000);
const PIECES = ['', 'abc', LONG, '\r\n0\r\n\r\n'];
const BODY = PIECES.join('');

function writeAnswer(writer: AnswerWriter, { method, minor, status, known, persist }: Answer, bodyless: boolean): boolean {
  const x = sampleExchange({ method, target: '/', kept: '', length: -1, chunked: false });
  writer.begin(minor);
  writer.informational(103, 'Early Hints', 'Link: </a>\r\n');
  const goesOn = writer.head(x, status, 'Why not', 'A: b\r\n', known ? BODY.length : UNTIL_CLOSE, persist);
  if (!bodyless) for (const piece of PIECES) writer.body(x, Buffer.from(piece), 0, piece.length);
  writer.end(x, 'X-Sum: 1\r\n');
  return goesOn;
}

for (const answer of ANSWERS) {
  const { method, minor, status, known, persist } = answer;
  const how = `${known ? 'known' : 'unknown'} length, ${persist ? 'kept' : 'closed'}`;
  test(`llhttp reads the response ${status} to ${method} in HTTP/1.${minor}, ${how}, as it was meant`, async () => {
    const bodyless = method === 'HEAD' || status === 204 || status === 304;
    let goesOn = false;
    const bytes = await received((writer) => {
      goesOn = writeAnswer(writer, answer, bodyless);
    });
    const { messages, error } = new Llhttp('response').read(bytes, bodyless, true);
    assert.equal(error, null);
    const interim: TheirMessage | undefined = minor === 1 ? messages.shift() : undefined;
    assert.equal(interim?.status, minor === 1 ? 103 : undefined);
    const [read] = messages;
    assert.ok(read !== undefined && messages.length === 1);
    assert.deepEqual([read.status, read.body], [status, bodyless ? '' : BODY]);
    assert.equal(read.complete || (!known && minor === 0), true);
    assert.equal(pairs(read.fields).includes('connection: close'), !goesOn);
    assert.equal(goesOn, persist && (known || bodyless || minor === 1));
    const chunked = !known && !bodyless && minor === 1;
    assert.deepEqual(pairs(read.trailers), chunked ? ['x-sum: 1'] : []);
  });
}
