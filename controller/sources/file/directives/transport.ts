import { type Directive, firstOf } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { lineOf, type Word } from '../../../../shared/config-file/word.ts';
import {
  MAX_ANSWER_SECS,
  MAX_DIAL_SECS,
  RESPONSE_HEADER_BYTES,
  readAuthorities,
  readServerName,
  type TransportSpec,
} from '../../../../shared/transport.ts';
import { parseDuration } from '../../../../shared/values/duration.ts';
import { parseSize } from '../../../../shared/values/size.ts';
import { CADDY_TRANSPORT } from './caddy-words.ts';
import type { Context, Rule, SiteDraft } from './rule.ts';

/** The options in the block, each at most once. */
const OPTIONS = new Map([
  ['tls_server_name', 'tls_server_name <name>'],
  ['ca', 'ca <path>'],
  ['insecure', 'insecure'],
  ['dial_timeout', 'dial_timeout <duration>'],
  ['response_header_timeout', 'response_header_timeout <duration>|off'],
  ['read_timeout', 'read_timeout <duration>|off'],
  ['max_response_header_size', 'max_response_header_size <size>'],
]);
/** For each time limit the member that it sets, its bounds (s), and whether it may be off. */
const TIMES = {
  dial_timeout: { member: 'dial_timeout_secs', most: MAX_DIAL_SECS, offable: false },
  response_header_timeout: { member: 'response_header_timeout_secs', most: MAX_ANSWER_SECS, offable: true },
  read_timeout: { member: 'read_timeout_secs', most: MAX_ANSWER_SECS, offable: true },
} as const;
const PROTOCOLS = ['h2', 'h2c', 'http/1.1'];

type Draft = { -readonly [member in keyof TransportSpec]: TransportSpec[member] };

export const transport: Rule<SiteDraft> = {
  name: 'transport',
  form: 'transport [h2|h2c|http/1.1] [{ … }]',
  scopes: ['site', 'handle'],
  args: [0, 1],
  block: 'optional',
  repeats: false,
  read({ name, args: [protocol], block }, draft, context) {
    const { report } = context;
    if (!protocol && !block) return report.error(name, `transport is incomplete: write ${transport.form}`);
    const spec: Draft = {};
    if (protocol?.text === 'h2' || protocol?.text === 'h2c') spec.protocol = protocol.text;
    else if (protocol?.text === 'http') report.error(protocol, 'transport "http": leave the word out: transport { … }');
    else if (protocol && !PROTOCOLS.includes(protocol.text))
      report.error(protocol, `transport ${quote(protocol.text)}: the protocols are ${PROTOCOLS.join(', ')}`);
    const seen: Word[] = [];
    for (const line of block === null ? [] : context.expanded(block).lines) readOption(line, seen, spec, context);
    // Even the default transport is set, because it overrides that of the site.
    draft.said.transport = Object.keys(spec).length === 0 ? null : spec;
  },
};

function readOption({ name, args: [word, extra], block }: Directive, seen: Word[], spec: Draft, context: Context): void {
  const { report } = context;
  const form = OPTIONS.get(name.text);
  if (form === undefined) {
    const instead = CADDY_TRANSPORT.get(name.text) ?? `write ${[...OPTIONS.values()].join(', ')}, one a line`;
    return report.error(name, `transport has no ${quote(name.text)}: ${instead}`);
  }
  const earlier = firstOf(seen, name.text);
  seen.push(name);
  if (earlier) return report.error(name, `${name.text} stands in ${lineOf(earlier, name)} already; keep one of them`);
  if (block) return report.error(block.open, `${name.text} takes no block: write ${form}`);
  const surplus = name.text === 'insecure' ? word : extra;
  if (surplus) return report.error(surplus, `${quote(surplus.text)} is one argument too many for ${name.text}: write ${form}`);
  if (name.text === 'insecure') spec.insecure = true;
  else if (!word) report.error(name, `${name.text} is incomplete: write ${form}`);
  else if (name.text === 'ca') readCa(word, spec, context);
  else if (name.text === 'max_response_header_size') readSize(word, spec, context);
  else if (isTime(name.text)) readTime(name.text, word, spec, context);
  else readName(word, spec, context);
}

const isTime = (name: string): name is keyof typeof TIMES => Object.hasOwn(TIMES, name);

function readTime(name: keyof typeof TIMES, word: Word, spec: Draft, { report }: Context): void {
  const { member, most, offable } = TIMES[name];
  const time = offable && (word.text === 'off' || word.text === '0') ? parseDuration('0s') : parseDuration(word.text);
  if (!time.ok) return report.error(word, `${name} ${quote(word.text)}: ${time.reason}${offable ? '; off is no limit' : ''}`);
  const secs = time.value / 1_000;
  if (Number.isInteger(secs) && secs <= most && (secs > 0 || offable)) spec[member] = secs;
  else report.error(word, `${name} ${quote(word.text)}: whole seconds, 1s to ${most}s${offable ? '; off is no limit' : ''}`);
}

function readSize(word: Word, spec: Draft, { report }: Context): void {
  const size = parseSize(word.text);
  const { least, most } = RESPONSE_HEADER_BYTES;
  if (!size.ok) report.error(word, `max_response_header_size ${quote(word.text)}: ${size.reason}`);
  else if (size.value >= least && size.value <= most) spec.max_response_header_bytes = size.value;
  else report.error(word, `max_response_header_size ${quote(word.text)}: ${least / 1_024}kb to ${most / 1_048_576}mb`);
}

function readName(word: Word, spec: Draft, { report }: Context): void {
  const name = readServerName(word.text);
  if (name.ok) spec.server_name = name.value;
  else report.error(word, `tls_server_name ${quote(word.text)}: ${name.reason}`);
}

function readCa(word: Word, spec: Draft, { report, textOf }: Context): void {
  const text = textOf(word);
  const authorities = text.ok ? readAuthorities(text.value) : text;
  if (authorities.ok) spec.ca = authorities.value;
  else report.error(word, `ca ${quote(word.text)}: ${authorities.reason}`);
}
