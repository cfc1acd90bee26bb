import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAULT, type Fault } from './fault.ts';
import { faultOfPartialHead, MAX_REQUEST_HEAD, MAX_TARGET, RequestHead } from './request-head.ts';

type Parse = { readonly head: RequestHead; readonly fault: Fault | null };

/** Parses a head in the middle of a longer buffer. */
function parse(text: string): Parse {
  const head = new RequestHead();
  return { head, fault: head.parse(Buffer.from(`before${text}after`, 'latin1'), 6, 6 + text.length) };
}

const H = 'Host: a.example\r\n';
const REFUSED: readonly [text: string, fault: Fault][] = [
  [`GET / HTTP/0.9\r\n${H}\r\n`, FAULT.badVersion],
  [`GET / HTTP/1.2\r\n${H}\r\n`, FAULT.badVersion],
  [`GET / HTTP/2.0\r\n${H}\r\n`, FAULT.badVersion],
  [`GET / HTTP/1\r\n${H}\r\n`, FAULT.badVersion],
  [`GET / http/1.1\r\n${H}\r\n`, FAULT.badVersion],
  [`GET /  HTTP/1.1\r\n${H}\r\n`, FAULT.badVersion],
  [`GET / HTTP/1.10\r\n${H}\r\n`, FAULT.badRequestLine],
  [`GET / HTTP/1.1 \r\n${H}\r\n`, FAULT.badRequestLine],
  [`GET / HTTP/1.1\n${H}\r\n`, FAULT.badRequestLine],
  [`GET / HTTP/1.1\r${H}\r\n`, FAULT.badRequestLine],
  ['GET /\r\n\r\n', FAULT.badRequestLine],
  [`\r\n\r\n`, FAULT.badMethod],
  [` GET / HTTP/1.1\r\n${H}\r\n`, FAULT.badMethod],
  [`G(T / HTTP/1.1\r\n${H}\r\n`, FAULT.badMethod],
  [`GET\t/ HTTP/1.1\r\n${H}\r\n`, FAULT.badMethod],
  [`\x16\x03\x01 / HTTP/1.1\r\n${H}\r\n`, FAULT.badMethod],
  [`GET  HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET /a\tb HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET /a#b HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET /\0 HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET /\x7f HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET /\xe9\x7f HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET /\xe9#a HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET \xe9 HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET http://\xe9/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  ['GET http://\xe9/ HTTP/1.0\r\n\r\n', FAULT.badTarget],
  [`GET a HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET * HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`OPTIONS ** HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET a.example:80 HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET ftp://a.example/ HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  [`GET http:///a HTTP/1.1\r\n${H}\r\n`, FAULT.badTarget],
  ['GET http:///a HTTP/1.1\r\nHost:\r\n\r\n', FAULT.badTarget],
  [`GET http://b.example/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  [`GET http://a.example:8080/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  [`GET http://a.example:443/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  [`GET https://a.example:80/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  ['GET http://:80/ HTTP/1.1\r\nHost:\r\n\r\n', FAULT.hostDisagrees],
  ['GET http://:/ HTTP/1.1\r\nHost:\r\n\r\n', FAULT.hostDisagrees],
  [`GET http://u@a.example/ HTTP/1.1\r\n${H}\r\n`, FAULT.hostDisagrees],
  ['GET http://a.example/ HTTP/1.1\r\nHost:\r\n\r\n', FAULT.hostDisagrees],
  ['GET http://a,b/ HTTP/1.0\r\n\r\n', FAULT.badTarget],
  ['GET http://u@a/ HTTP/1.0\r\n\r\n', FAULT.badTarget],
  ['GET / HTTP/1.1\r\n\r\n', FAULT.badHost],
  ['GET http://a.example/ HTTP/1.1\r\n\r\n', FAULT.badHost],
  [`GET / HTTP/1.1\r\n${H}${H}\r\n`, FAULT.badHost],
  [`GET / HTTP/1.0\r\n${H}Transfer-Encoding: chunked\r\n\r\n`, FAULT.codingInOldVersion],
  [`GET / HTTP/1.1\r\n X: y\r\n${H}\r\n`, FAULT.foldedLine],
  [`CONNECT a.example:80 HTTP/1.1\r\n${H}\r\n`, FAULT.tunnelRequest],
];

for (const host of [
  'a b',
  'a,b',
  'u@a',
  'a/b',
  'a?b',
  'a%41',
  'a\\b',
  'http://a',
  'a:b',
  'a:8 0',
  'a:+80',
  'a:65536',
  'a:000080',
  'a:80:80',
  ':80',
  '.',
  '[::1',
  '::1',
  '[::g]',
  '[::1%eth0]',
  '[::1]a',
  '[::1]:x',
  '[1.2.3.4]',
  'é',
  'a'.repeat(254),
]) {
  test(`Host: ${host.slice(0, 20)} is refused`, () => assert.equal(parse(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`).fault, FAULT.badHost));
}

for (const [text, fault] of REFUSED) {
  test(`${JSON.stringify(text)} is refused: ${fault.reason}`, () => assert.equal(parse(text).fault, fault));
}

type Read = Partial<Pick<RequestHead, 'method' | 'target' | 'minor' | 'host' | 'hostField'>>;
const ACCEPTED: readonly [text: string, read: Read][] = [
  [`GET / HTTP/1.1\r\n${H}\r\n`, { method: 'GET', target: '/', minor: 1, host: 'a.example', hostField: 'a.example' }],
  [`get / HTTP/1.0\r\n${H}\r\n`, { method: 'get', minor: 0 }],
  [`x!#$%&'*+-.^_\`|~ / HTTP/1.1\r\n${H}\r\n`, { method: "x!#$%&'*+-.^_`|~" }],
  [`GET /a//b/../%2f?c=[d]|"e" HTTP/1.1\r\n${H}\r\n`, { target: '/a//b/../%2f?c=[d]|"e"' }],
  [`GET /caf\xc3\xa9/%c3\xa9?q=\xe9&\xff HTTP/1.1\r\n${H}\r\n`, { target: '/caf%C3%A9/%c3%A9?q=%E9&%FF' }],
  [`GET http://a.example/\x80 HTTP/1.1\r\n${H}\r\n`, { target: '/%80' }],
  [`OPTIONS * HTTP/1.1\r\n${H}\r\n`, { target: '*' }],
  ['GET / HTTP/1.1\r\nHost: A.Example.:080\r\n\r\n', { host: 'a.example', hostField: 'A.Example.:080' }],
  ['GET / HTTP/1.1\r\nHost: a:\r\n\r\n', { host: 'a', hostField: 'a:' }],
  ['GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n', { host: 'a' }],
  ['GET / HTTP/1.1\r\nHost: [2001:DB8::1]:8080\r\n\r\n', { host: '[2001:db8::1]' }],
  ['GET / HTTP/1.1\r\nHost:\r\n\r\n', { host: '', hostField: '' }],
  [`GET / HTTP/1.1\r\nHost: ${'a'.repeat(253)}.\r\n\r\n`, { host: 'a'.repeat(253) }],
  ['GET HTTP://A.example:80/b?c HTTP/1.1\r\nHost: a.EXAMPLE:80\r\n\r\n', { target: '/b?c', host: 'a.example' }],
  [`GET https://a.example HTTP/1.1\r\n${H}\r\n`, { target: '/' }],
  [`GET http://a.example?b HTTP/1.1\r\n${H}\r\n`, { target: '/?b' }],
  [`GET http://a.example:80/b HTTP/1.1\r\n${H}\r\n`, { target: '/b' }],
  [`GET http://a.example:/b HTTP/1.1\r\n${H}\r\n`, { target: '/b' }],
  [`GET https://A.example:443/b HTTP/1.1\r\n${H}\r\n`, { target: '/b' }],
  ['GET http://a.example/b HTTP/1.1\r\nHost: a.example:80\r\n\r\n', { target: '/b' }],
  [`OPTIONS http://a.example HTTP/1.1\r\n${H}\r\n`, { target: '*' }],
  [`OPTIONS http://a.example/ HTTP/1.1\r\n${H}\r\n`, { target: '/' }],
  ['GET / HTTP/1.0\r\n\r\n', { host: '', hostField: '' }],
  ['GET http://A.example:81/ HTTP/1.0\r\n\r\n', { target: '/', host: 'a.example', hostField: 'A.example:81' }],
];

for (const [text, read] of ACCEPTED) {
  test(`${JSON.stringify(text.slice(0, 80))} is read as ${JSON.stringify(read).slice(0, 100)}`, () => {
    const { head, fault } = parse(text);
    assert.equal(fault, null);
    assert.deepEqual(Object.fromEntries(Object.keys(read).map((key) => [key, head[key as keyof Read]])), read);
  });
}

test('a head is read as by a new reader, regardless of the heads before', () => {
  const lines = ['', H, `${H}Expect: 100-continue\r\n`, 'X: y\r\n', 'Host: a,b\r\n', 'Host: \r\n', `${H}Transfer-Encoding: chunked\r\n`];
  const starts = ['GET / HTTP/1.1\r\n', 'POST /a?b HTTP/1.0\r\n', 'GET http://a.example/ HTTP/1.1\r\n', 'GET http://b/ HTTP/1.0\r\n'];
  const heads = starts.flatMap((start) => lines.map((fields) => `${start}${fields}\r\n`));
  for (const first of heads)
    for (const second of heads) {
      const used = new RequestHead();
      for (const text of [first, second, second]) {
        const { head, fault } = parse(text);
        assert.equal(used.parse(Buffer.from(text, 'latin1'), 0, text.length), fault, `${first}${second}`);
        if (fault === null) assert.deepEqual(seen(used), seen(head), `${first}${second}`);
      }
    }
});

const seen = ({ method, target, minor, host, hostField, fields: { kept, expectsContinue, chunked } }: RequestHead): object => ({
  ...{ method, target, minor, host, hostField, kept, expectsContinue, chunked },
});

test('the forwarded lines have exactly one Host, also for HTTP/1.0 requests without one', () => {
  const hosts = (text: string) => parse(text).head.fields.kept.match(/^host:.*$/gim);
  assert.deepEqual(hosts('GET / HTTP/1.1\r\nHost:\r\n\r\n'), ['Host: ']);
  assert.deepEqual(hosts('GET / HTTP/1.0\r\nX: y\r\n\r\n'), ['Host: ']);
  assert.deepEqual(hosts('GET http://a/ HTTP/1.0\r\nX: y\r\n\r\n'), ['Host: a']);
});

test('an expectation in HTTP/1.0 is not forwarded (RFC 9110 10.1.1)', () => {
  const { head, fault } = parse(`POST / HTTP/1.0\r\n${H}Expect: 100-continue\r\nA: b\r\n\r\n`);
  assert.deepEqual([fault, head.fields.expectsContinue, head.fields.kept], [null, false, `${H}A: b\r\n`]);
});

test('accepts a target of 8,192 bytes and refuses one more, complete or not', () => {
  const line = (length: number) => `GET /${'a'.repeat(length - 1)}`;
  assert.equal(parse(`${line(MAX_TARGET)} HTTP/1.1\r\n${H}\r\n`).fault, null);
  assert.equal(parse(`${line(MAX_TARGET - 3)}\xe9 HTTP/1.1\r\n${H}\r\n`).fault, null, 'an escape counts as three bytes');
  assert.equal(parse(`${line(MAX_TARGET - 2)}\xe9 HTTP/1.1\r\n${H}\r\n`).fault, FAULT.longTarget);
  assert.equal(parse(`${line(MAX_TARGET + 1)} HTTP/1.1\r\n${H}\r\n`).fault, FAULT.longTarget);
  assert.equal(partial(line(MAX_TARGET)), null);
  assert.equal(partial(line(MAX_TARGET + 1)), FAULT.longTarget);
});

test('accepts a head of 16,384 bytes and refuses one more', () => {
  const head = (length: number) => `GET / HTTP/1.1\r\n${H}A: ${'b'.repeat(length - 16 - H.length - 7)}\r\n\r\n`;
  assert.equal(head(MAX_REQUEST_HEAD).length, MAX_REQUEST_HEAD);
  assert.equal(parse(head(MAX_REQUEST_HEAD)).fault, null);
  assert.equal(parse(head(MAX_REQUEST_HEAD + 1)).fault, FAULT.longHead);
  for (const cut of [3, 2, 1]) assert.equal(partial(head(MAX_REQUEST_HEAD).slice(0, -cut)), null);
});

function partial(text: string): Fault | null {
  return faultOfPartialHead(Buffer.from(`before${text}after`, 'latin1'), 6, 6 + text.length, new RequestHead());
}

test('no prefix of a valid head is refused', () => {
  const long = `POST /a HTTP/1.1\r\nX: y \r\nConnection: close, x\r\nTransfer-Encoding: chunked\r\nA:\tb\xe9\r\n${H}\r\n`;
  for (const text of [...ACCEPTED.map(([text]) => text), long]) {
    for (let end = 0; end < text.length; end++) assert.equal(partial(text.slice(0, end)), null, JSON.stringify(text.slice(0, end)));
  }
});

test('bytes that no continuation can make valid are refused at once', () => {
  for (const [text, fault] of [
    ['\x16', FAULT.badMethod],
    [' ', FAULT.badMethod],
    ['\n', FAULT.badMethod],
    ['\r\r', FAULT.badMethod],
    ['G\r', FAULT.badMethod],
    ['GE(', FAULT.badMethod],
    ['GET  ', FAULT.badTarget],
    ['GET /a#', FAULT.badTarget],
    ['GET /\r', FAULT.badTarget],
    ['GET / P', FAULT.badVersion],
    ['GET / HTTP/2', FAULT.badVersion],
    ['GET / HTTP/1.1 ', FAULT.badVersion],
    ['GET / HTTP/1.1\r\n ', FAULT.foldedLine],
    ['GET / HTTP/1.1\r\nHost ', FAULT.badFieldName],
    ['GET / HTTP/1.1\r\nA: \0', FAULT.badFieldValue],
    ['GET a HTTP/1.1\r\n', FAULT.badTarget],
    ['GET / HTTP/1.1\r\nContent-Length: x\r\n', FAULT.badLength],
    ['GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n', FAULT.badHost],
    ['GET / HTTP/1.1\r\nHost: a b\r\n', FAULT.badHost],
    ['GET http://a/ HTTP/1.1\r\nHost: b\r\n', FAULT.hostDisagrees],
    ['GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n', FAULT.codingInOldVersion],
  ] as const) {
    assert.equal(partial(text), fault, JSON.stringify(text));
    if (text !== '\r\r') assert.equal(partial(text.slice(0, -1)), null, JSON.stringify(text.slice(0, -1)));
  }
});
