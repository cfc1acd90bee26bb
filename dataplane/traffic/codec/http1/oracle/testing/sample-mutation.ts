import type { SampleRandom } from './sample-random.ts';

/** Bytes and words that parsers have read differently. */
const PROVOCATIONS = [
  ...'\r\n\0 \t:;,=."\\#?/*%0159afAFxg_-+@[]\x0b\x0c\x1b\x7f\x80\x85\xa0\xff',
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  '\r\r\n',
  '\r\n ',
  '\r\n\t',
  ' :',
  ': ',
  '0\r\n\r\n',
  '00000000000000000',
  'fffffffffffff',
  '18446744073709551617',
  '9007199254740993',
  'chunked',
  ', chunked',
  'close',
  'keep-alive',
  'HTTP/1.1',
  'HTTP/1.0',
  '\r\nContent-Length: 3',
  '\r\nContent-Length: 0',
  '\r\nTransfer-Encoding: chunked',
  '\r\nTransfer-Encoding: identity',
  '\r\nHost: a',
  '\r\nConnection: close',
  'GET / HTTP/1.1\r\nHost: b\r\n\r\n',
  ';a=b',
  ';a="\\""',
] as const;

/** Corrupts a message at one place. */
export function mutated(message: string, random: SampleRandom): string {
  const at = random.below(message.length + 1);
  const to = Math.min(message.length, at + 1 + random.below(random.once(4) ? 24 : 3));
  switch (random.below(6)) {
    case 0:
      return message.slice(0, at) + random.pick(PROVOCATIONS) + message.slice(at);
    case 1:
      return message.slice(0, at) + random.pick(PROVOCATIONS) + message.slice(at + 1);
    case 2:
      return message.slice(0, at) + message.slice(to);
    case 3:
      return message.slice(0, to) + message.slice(at);
    case 4: {
      const flipped = String.fromCharCode((message.charCodeAt(at) & 0xff) ^ (1 << random.below(8)));
      return message.slice(0, at) + flipped + message.slice(at + 1);
    }
    default: {
      const from = random.below(message.length + 1);
      return message.slice(0, at) + message.slice(from, from + random.below(30)) + message.slice(at);
    }
  }
}

/** Where to split `length` bytes: up to three offsets, ascending. */
export function randomCuts(length: number, random: SampleRandom): number[] {
  const cuts = Array.from({ length: 1 + random.below(3) }, () => random.below(length + 1));
  return cuts.sort((a, b) => a - b);
}
