import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Http2Client } from '../testing/http2/upstream.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

/** A row of the page, and responses that test it. */
type Row = { readonly says: string; readonly answers: readonly string[]; readonly closes?: true };

const line = 'HTTP/1.1 200 OK\r\n';
const LENGTH = 'Content-Length: 5\r\n';
const chunked = (body: string): string => `${line}Transfer-Encoding: chunked\r\n\r\n${body}`;

/** Each response has the body `hello`, and its connection is reused unless it `closes`. */
const TAKEN: readonly Row[] = [
  {
    says: 'some or all lines of its head end in LF alone',
    answers: [
      'HTTP/1.1 200 OK\nContent-Length: 5\nA: b\n\nhello',
      `${line}Content-Length: 5\nA: b\n\nhello`,
      `HTTP/1.1 200 OK\n${LENGTH}A: b\r\n\nhello`,
      `${line}A: b\n${LENGTH}\r\nhello`,
      'HTTP/1.1 103 Early\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n',
    ],
  },
  {
    says: 'one empty line precedes its head',
    answers: [`\r\n${ok('hello')}`, `\n${ok('hello')}`, `HTTP/1.1 103 a\r\n\r\n\r\n${ok('hello')}`],
  },
  {
    says: 'the reason phrase is missing, with or without the space before it',
    answers: [ok('hello').replace(' OK', ''), ok('hello').replace('OK', '')],
  },
  {
    says: '`Content-Length` is repeated or a list, always with the same value',
    answers: [
      `${line}${LENGTH}${LENGTH}\r\nhello`,
      `${line}Content-Length: 5, 5\r\n\r\nhello`,
      `${line}${LENGTH}A: b\r\ncontent-length: 5,5\r\n\r\nhello`,
    ],
  },
  {
    says: 'spaces or tabs follow a chunk size',
    answers: [
      chunked('5 \r\nhello\r\n0  \r\n\r\n'),
      chunked('5\t ;a=b\r\nhello\r\n0\r\n\r\n'),
      chunked(`2${' '.repeat(200)}\r\nhe\r\n3 \r\nllo\r\n0\r\n\r\n`),
    ],
  },
  {
    says: "`Connection` lists something that isn't a token",
    answers: [
      ok('hello', 'Connection: a b\r\n'),
      ok('hello', 'Connection: "close"\r\n'),
      ok('hello', 'Connection: keep-alive; x, \xe9\r\n'),
    ],
  },
  {
    says: 'bytes follow the end given by `Content-Length` or the last chunk',
    answers: [
      `${ok('hello')}\r\n`,
      `${ok('hello')} and more`,
      `${ok('hello')}${ok('forged')}`,
      chunked(`5\r\nhello\r\n0\r\n\r\n${ok('forged')}`),
    ],
    closes: true,
  },
];

/** 502 if none of the response has been forwarded. */
const REFUSED: readonly Row[] = [
  {
    says: "`Content-Length` has different values, or one that isn't a number",
    answers: [
      `${line}${LENGTH}Content-Length: 6\r\n\r\nhello`,
      `${line}Content-Length: 5, 6\r\n\r\nhello`,
      `${line}Content-Length: 5,\r\n\r\nhello`,
      `${line}Content-Length: +5\r\n\r\nhello`,
      `${line}Content-Length:\r\n\r\nhello`,
    ],
  },
  {
    says: '`Content-Length` and `Transfer-Encoding` are both present',
    answers: [
      `${line}${LENGTH}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      `${line}Transfer-Encoding: identity\r\n${LENGTH}\r\nhello`,
    ],
  },
  {
    says: '`Transfer-Encoding` is anything but `chunked` alone, or present in HTTP/1.0',
    answers: [
      `${line}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      `${line}Transfer-Encoding: chunked, gzip\r\n\r\nhello`,
      `${line}Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
  },
  {
    says: 'a line is folded, contains a CR without LF or a control character, has no colon, or has whitespace before the colon',
    answers: [
      `${line}${LENGTH}A: b\r\n c\r\n\r\nhello`,
      `${line}${LENGTH}A: b\n\tc\n\nhello`,
      `${line}${LENGTH}A: b\rC: d\r\n\r\nhello`,
      `${line}A: b\r\r\n${LENGTH}\n\nhello`,
      `${line}${LENGTH}A: \0\r\n\r\nhello`,
      `${line}${LENGTH}A\r\n\r\nhello`,
      `${line}Content-Length : 5\r\n\r\nhello`,
    ],
  },
  {
    says: "the status line is invalid: another protocol, a status that doesn't have three digits or is below 100, or a 101 without an upgrade request",
    answers: [
      'SSH-2.0-x\r\n\r\n',
      ok('hello').replace('HTTP/1.1', 'ICY'),
      ok('hello').replace('200', '20'),
      ok('hello').replace('200', '2000'),
      ok('hello').replace('200', '099'),
      ok('hello').replace('200 OK', '101 Switching Protocols'),
      `\r\n\r\n${ok('hello')}`,
    ],
  },
];

for (const { says, answers, closes } of TAKEN)
  for (const text of answers)
    test(`a response is accepted if ${says}: ${JSON.stringify(text.slice(0, 80))}`, async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await ProxyFixture.before(upstream);
      const client = await proxy.connect();
      client.send(get());
      const { wire } = await upstream.nextRequest();
      wire.send(text);
      let answer = await client.readAnswer();
      if (answer.line.includes(' 103 ')) answer = await client.readAnswer();
      assert.match(answer.line, /^HTTP\/1\.1 200 /);
      assert.equal(answer.body, 'hello');
      assert.match(field(answer.head, 'Content-Length') ?? '5', /^5$/);
      assert.doesNotMatch(answer.head, /[^\r]\n|Connection: (?!close)/);
      client.send(get());
      const next = closes ? (await upstream.nextRequest()).wire : wire;
      if (!closes) await wire.readRequest();
      next.send(ok('next'));
      assert.equal((await client.readAnswer()).body, 'next');
      if (closes) assert.equal(wire.closed || wire.ended, true);
    });

for (const { says, answers } of REFUSED)
  for (const text of answers)
    test(`a response is answered with 502 if ${says.slice(0, 40)}…: ${JSON.stringify(text.slice(0, 80))}`, async () => {
      using upstream = await UpstreamFixture.serving(text);
      using proxy = await ProxyFixture.before(upstream);
      const { line: status, body } = await proxy.request(get());
      assert.match(status, / 502 /);
      assert.doesNotMatch(body, /hello/);
    });

for (const text of [
  chunked('5\nhello\r\n0\r\n\r\n'),
  chunked('5\r\nhello\n0\r\n\r\n'),
  chunked('5\r\nhello\r\n0\r\nA: b\n\r\n'),
  chunked('5 5\r\nhello\r\n'),
])
  test(`a response is cut off if its chunks are malformed: ${JSON.stringify(text.slice(45))}`, async () => {
    using upstream = await UpstreamFixture.serving(text);
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get());
    assert.doesNotMatch(await client.readAll(), /\r\n0\r\n\r\n$/);
  });

for (const status of [600, 999])
  test(`the status ${status} is forwarded over HTTP/1.1, and over HTTP/2 it becomes a 502 with the same fields and body`, async () => {
    const text = `HTTP/1.1 ${status} Odd\r\nA: b\r\n${LENGTH}\r\nhello`;
    using upstream = await UpstreamFixture.serving(text);
    using proxy = await ProxyFixture.before(upstream);
    const answer = await proxy.request(get());
    assert.deepEqual([answer.line, answer.body], [`HTTP/1.1 ${status} Odd`, 'hello']);
    using speaker = new Http2Client(proxy);
    const over2 = await speaker.request({ ':path': '/' });
    assert.deepEqual([over2.status, over2.head.a, over2.body], [502, 'b', 'hello']);
  });

test('the page on forwarding has these rows', () => {
  const page = readFileSync(new URL('../../../docs/reference/forwarding.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((text) => text.startsWith('| '));
  for (const { says } of [...TAKEN, ...REFUSED])
    assert.ok(
      rows.some((row) => row.startsWith(`| ${says} |`)),
      says,
    );
});
