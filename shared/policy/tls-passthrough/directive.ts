import type { DirectiveBlock, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { LONGEST_PASSTHROUGH_IDLE_SECS, USUAL_PASSTHROUGH_IDLE_SECS } from '../../limits.ts';
import { type Address, parseUpstream } from '../../values/address.ts';
import { parseSeconds } from '../../values/duration.ts';

const LINES = 'proxy_protocol v1|v2, or idle_timeout <duration>';

type Target = { address: Address; weight: number; state: 'healthy' };
type Passthrough = { upstreams: Target[]; proxy_protocol?: 'v1' | 'v2' | null | undefined; idle_timeout_secs: number };
type PassthroughMembers = { tls_passthrough?: Passthrough[] | null | undefined };

export const passthroughDirective: Grammar<PassthroughMembers> = {
  name: 'tls_passthrough',
  otherNames: ['ssl_passthrough', 'passthrough'],
  form: `tls_passthrough <host:port> [<host:port> …] [{ … }], with one of these per line: ${LINES}`,
  args: [1, Number.POSITIVE_INFINITY],
  block: 'optional',
  repeats: false,
  answers: true,
  read({ args, block }, part, reading) {
    const { report } = reading;
    const upstreams = args.flatMap((word): Target[] => {
      const address = parseUpstream(word.text);
      if (address.ok) return [{ address: address.value, weight: 1, state: 'healthy' }];
      const scheme = /^https?:\/\//.test(word.text);
      report.error(
        word,
        `tls_passthrough ${quote(word.text)}: ${scheme ? 'write the address without a scheme: bytes are passed on as they are' : address.reason}`,
      );
      return [];
    });
    const passthrough: Passthrough = { upstreams, idle_timeout_secs: USUAL_PASSTHROUGH_IDLE_SECS };
    if (block) readLines(block, passthrough, reading);
    part.tls_passthrough = [passthrough];
  },
};

function readLines(block: DirectiveBlock, passthrough: Passthrough, reading: DirectiveContext): void {
  const { report } = reading;
  const seen = new Set<string>();
  for (const {
    name,
    args: [word, extra],
    block: inner,
  } of reading.expanded(block).lines) {
    if (seen.has(name.text)) report.error(name, `${name.text} is in this block twice`);
    seen.add(name.text);
    if (name.text !== 'proxy_protocol' && name.text !== 'idle_timeout')
      report.error(name, `tls_passthrough ${quote(name.text)}: write ${LINES}`);
    else if (inner) report.error(inner.open, `a line of tls_passthrough takes no block: write ${LINES}`);
    else if (!word) report.error(name, `${name.text} is missing an argument: write ${LINES}`);
    else if (extra) report.error(extra, `${quote(extra.text)} is one argument too many for ${name.text}: write ${LINES}`);
    else if (name.text === 'proxy_protocol') readVersion(word, passthrough, report);
    else readTimeout(word, passthrough, report);
  }
}

function readVersion(word: Word, passthrough: Passthrough, report: DirectiveContext['report']): void {
  if (word.text === 'v1' || word.text === 'v2') passthrough.proxy_protocol = word.text;
  else report.error(word, `proxy_protocol ${quote(word.text)}: write v1 or v2`);
}

function readTimeout(word: Word, passthrough: Passthrough, report: DirectiveContext['report']): void {
  const time = parseSeconds(word.text, LONGEST_PASSTHROUGH_IDLE_SECS);
  if (!time.ok) report.error(word, `idle_timeout ${quote(word.text)}: ${time.reason}`);
  else if (time.value === 0) report.error(word, 'idle_timeout must be at least 1s');
  else passthrough.idle_timeout_secs = time.value;
}
