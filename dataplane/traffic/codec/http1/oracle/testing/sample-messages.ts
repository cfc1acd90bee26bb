import { mutated } from './sample-mutation.ts';
import type { SampleRandom } from './sample-random.ts';

const METHODS = [
  'GET',
  'GET',
  'GET',
  'POST',
  'POST',
  'HEAD',
  'PUT',
  'OPTIONS',
  'DELETE',
  'PATCH',
  'PURGE',
  'M-SEARCH',
  'QUERY',
  'FOO',
  'get',
];
const ODD_METHODS = ['PRI', 'DESCRIBE', 'SOURCE', 'CONNECT', 'G@T', 'GE T', '', '"GET"', 'GETT', 'TRACE', "x!#$%&'*+-.^_`|~"];
const TARGETS = [
  '/',
  '/',
  '/a',
  '/a/b?c=d&e',
  '/%2e%2E/',
  '//',
  '/a|b{"<>^`}\\',
  '/?',
  '/a?b?c',
  '/caf\xc3\xa9?\xe9=\xff',
  'http://HOST/x',
  'HTTPS://HOST?x',
];
const OPTIONS_TARGETS = ['*', 'http://HOST', '/a'];
const ODD_TARGETS = [
  '',
  '*',
  'a',
  '**',
  '/#',
  '/a?b#c',
  '/\x80',
  '/ /',
  'http://b/',
  'https://a.example?q',
  'a.example:80',
  'http:///',
  '?a',
  'x://a.example/',
];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0'];
const ODD_VERSIONS = ['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/1', 'http/1.1', 'HTTP/1.10', 'HTTP/11', 'RTSP/1.0', 'ICE/1.0', ''];
const HOSTS = ['a.example', 'a.example', 'a.example', 'A.example:80', '[::1]:8080', '127.0.0.1', '', 'a.example.', 'x_y'];
const ODD_HOSTS = ['a b', 'a@b', 'a/', 'a:b', '[::1', 'a,b', 'a:99999', '[::g]', 'a:', ':80'];
const FIELDS = [
  'Accept: */*',
  'accept:text/html',
  'X-Empty:',
  'X-Empty: \t ',
  'X-A: \t b \t',
  'X-Text: \xe9\xff',
  'X_A: b',
  'Cookie: a=b; c="d"',
  "!#$%&'*+-.^_`|~: token",
  'Connection: keep-alive',
  'Connection: Keep-Alive, X-A',
  'Connection: close',
  'Connection: , close ,\t',
  'Connection: cookie, host, accept',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Keep-Alive: timeout=5',
  'Proxy-Connection: x',
  'TE: trailers',
  'X-Forwarded-For: 192.0.2.1',
  'X_Forwarded_For: 192.0.2.1',
  'X.Forwarded~For: 192.0.2.1',
  'X-Forwarded-Prefix: /a',
  'X-Original-URL:/b',
  'X-Request-ID: 7',
  'Proxy: a',
  'Expect: 100-continue',
  'Trailer: X-A',
  'Date: Sat, 21 Nov 2026 05:55:54 GMT',
] as const;
const ODD_FIELDS = [
  'Content-Length: 3',
  'Content-Length: 03',
  'Content-Length: +3',
  'Content-Length: 3, 3',
  'Content-Length:',
  'Content-Length: 3 3',
  'Content-Length: 18446744073709551619',
  'Content_Length: 3',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked ',
  'Transfer-Encoding: chunked\t',
  'Content-Length: 3\t',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding:',
  'Transfer-Encoding: ,chunked',
  'Transfer-Encoding: chunked;q=1',
  'Transfer_Encoding: chunked',
  'Transfer-Encoding : chunked',
  ' folded',
  '\tfolded: b',
  ': no name',
  'no colon',
  'Host: a.example',
  'X-Nul: \0',
  'Connection: close\xa0',
  'User: \x85admin',
  'User: admin\xc2\xa0',
  'User: voil\xc3\xa0',
  'User: \xe2\x80\x83admin',
  'Expect: 200-ok',
  'Expect:',
  'Connection: a b',
  'Proxy-Connection: close',
] as const;
const SIZES = ['1', '2', '3', 'a', 'A', '0a', '003', '10', '1F', '012'];
const ODD_SIZES = [
  '',
  '0x3',
  '+3',
  '-1',
  ' 3',
  '3 ',
  '3\t',
  'g',
  '00000000000000000003',
  'ffffffffffffffff',
  '10000000000000003',
  '3;',
  '3;a',
  '3\n',
];
const EXTENSIONS = ['', '', '', '', ';a', ';a=b', ';a="b c;\\"\r"'.replace('\r', ''), ';a;b=c'];
const ODD_EXTENSIONS = [';', ';;', ';a=', ' ;a', ';a =b', ';a= b', ';"a"', ';a="b', ';a="b"c', ';a="\x01"', ';a="\xe9"', ';a=b=c', ';\xe9'];
const TRAILERS = ['', '', '', 'X-A: b\r\n', 'X-A: b\r\nX-B:c\r\n', 'X-Sum: \t1 \r\nCookie: a\r\n', 'Connection: x-a\r\nX-A: b\r\n'];
const ODD_TRAILERS = [
  'X:POST / HTTP/1.1\r\n',
  'X: \x85a\r\n',
  'X: voil\xc3\xa0\r\n',
  'Content_Type: a\r\nVary: b\r\n',
  'Host: a\r\n',
  'Content-Length: 1\r\n',
  'Transfer-Encoding: chunked\r\n',
  ' a: b\r\n',
  'a b\r\n',
  'a : b\r\n',
  'X: \0\r\n',
  '\n',
];

const STATUSES = ['200', '200', '200', '404', '204', '304', '301', '500', '206'];
const ODD_STATUSES = ['101', '099', '600', '999', '20', '2000', 'abc', '', '+20', '000', '1e2'];
const REASONS = [' OK', ' OK', ' Not Found', ' ', '', ' \xe9t\xe9', ' a\tb'];
const ODD_REASONS = ['OK', ' a\0', '\t', '  ', ' a\rb'];

/** How often messages deviate from the grammar: one choice in this many is odd. */
const ODDITY = 50;

const choose = (random: SampleRandom, usual: readonly string[], odd: readonly string[]): string =>
  random.pick(random.once(ODDITY) ? odd : usual);

function chunks(random: SampleRandom): string {
  let body = '';
  for (let count = random.below(3); count > 0; count--) {
    const size = choose(random, SIZES, ODD_SIZES);
    const data = random.bytes(Number.parseInt(size, 16) % 64 || 0);
    body += `${size}${choose(random, EXTENSIONS, ODD_EXTENSIONS)}\r\n${data}\r\n`;
  }
  return `${body}0${choose(random, EXTENSIONS, ODD_EXTENSIONS)}\r\n${choose(random, TRAILERS, ODD_TRAILERS)}\r\n`;
}

function fields(random: SampleRandom): string {
  let lines = '';
  for (let count = random.below(5); count > 0; count--) lines += `${choose(random, FIELDS, ODD_FIELDS)}\r\n`;
  return lines;
}

/** Fields, the empty line and a body. One in `silent` has no length. */
function rest(random: SampleRandom, before: string, silent: number): string {
  const head = before + fields(random);
  switch (random.once(silent) ? 0 : 1 + random.below(2)) {
    case 0:
      return `${head}\r\n`;
    case 1: {
      const length = random.below(12);
      return `${head}Content-Length: ${length}\r\n${fields(random)}\r\n${random.bytes(length)}`;
    }
    default:
      return `${head}Transfer-Encoding: chunked\r\n${random.once(4) ? fields(random) : ''}\r\n${chunks(random)}`;
  }
}

export function sampleRequest(random: SampleRandom): string {
  const host = choose(random, HOSTS, ODD_HOSTS);
  const method = choose(random, METHODS, ODD_METHODS);
  const target = choose(random, method === 'OPTIONS' ? OPTIONS_TARGETS : TARGETS, ODD_TARGETS).replace('HOST', () => host);
  const line = `${method} ${target} ${choose(random, VERSIONS, ODD_VERSIONS)}\r\n`;
  const before = random.once(3) ? line + fields(random) : line;
  return rest(random, random.once(ODDITY) ? before : `${before}Host: ${host}\r\n`, 2);
}

/** A response with the variants that some upstreams send. */
function liberal(answer: string, random: SampleRandom): string {
  const end = answer.indexOf('\r\n\r\n') + 4;
  const [head, body] = [answer.slice(0, end), answer.slice(end)];
  switch (random.below(5)) {
    case 0:
      return head.replaceAll('\r\n', '\n') + body;
    case 1:
      return head.replace(/\r\n/g, (line) => (random.once(2) ? '\n' : line)) + body;
    case 2:
      return (
        head.replace(
          /\r\n(content-length: *(\d+))/i,
          (_, line, length) => `\r\n${random.once(2) ? `${line}\r\n${line}` : `${line}, ${length}`}`,
        ) + body
      );
    case 3:
      return (
        head +
        body.replace(
          /(^|\r\n)([0-9a-f]+)(;|\r\n)/gi,
          (_, before, size, after) => `${before}${size}${random.pick([' ', '  \t', ''])}${after}`,
        )
      );
    default:
      return (random.once(2) ? '\r\n' : '\n') + answer;
  }
}

export function sampleAnswer(random: SampleRandom): string {
  const interim = random.once(8) ? `HTTP/1.1 ${random.pick(['100', '103', '102'])} Wait\r\n${fields(random)}\r\n` : '';
  const line = `${choose(random, VERSIONS, ODD_VERSIONS)} ${choose(random, STATUSES, ODD_STATUSES)}${choose(random, REASONS, ODD_REASONS)}\r\n`;
  const usual = interim + rest(random, line, 5);
  const answer = random.once(10) ? liberal(usual, random) : usual;
  return random.once(6) ? answer + random.bytes(random.below(8)) : answer;
}

/** One input of a run: messages that follow the grammar, corrupted ones, and occasionally random bytes. */
export function sampleInput(random: SampleRandom, message: (random: SampleRandom) => string): string {
  if (random.once(50)) return random.bytes(random.below(40));
  let input = message(random);
  if (random.once(3)) input += message(random);
  for (let spoils = random.once(2) ? 0 : 1 + random.below(2); spoils > 0; spoils--) input = mutated(input, random);
  return input;
}
