import { readAuthorities } from '../../../../shared/certificates/authorities.ts';
import { readClientPair } from '../../../../shared/certificates/client-pair.ts';
import { type Directive, firstOf } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { lineOf, type Word } from '../../../../shared/config-file/word.ts';
import {
  MAX_ANSWER_SECS,
  MAX_DIAL_SECS,
  RESPONSE_HEADER_BYTES,
  readServerName,
  type TransportSpec,
} from '../../../../shared/upstreams/transport.ts';
import { parseDuration } from '../../../../shared/values/duration.ts';
import { parseSize } from '../../../../shared/values/size.ts';
import { CADDY_TRANSPORT } from './caddy-words.ts';
import type { Context, Rule, SiteDraft } from './rule.ts';

type Draft = { -readonly [member in keyof TransportSpec]: TransportSpec[member] };

/** An option of the block, allowed once: its form, how many arguments it has, and how they are read. `insecure` has none. */
type Option = { readonly form: string; readonly args: 0 | 1 | 2; readonly read?: ReadArguments };
/** `last` is also the only argument of an option that takes one. */
type ReadArguments = (first: Word, spec: Draft, refuse: Refuse, context: Context, last: Word) => void;
type Refuse = (why: string) => void;

const OPTIONS: ReadonlyMap<string, Option> = new Map([
  ['tls_server_name', { form: 'tls_server_name <name>', args: 1, read: readName }],
  ['ca', { form: 'ca <path>', args: 1, read: readCa }],
  ['tls_client_auth', { form: 'tls_client_auth <certificate> <key>', args: 2, read: readPair }],
  ['insecure', { form: 'insecure', args: 0 }],
  ['dial_timeout', { form: 'dial_timeout <duration>', args: 1, read: timeReader('dial_timeout_secs', MAX_DIAL_SECS, false) }],
  [
    'response_header_timeout',
    { form: 'response_header_timeout <duration>|off', args: 1, read: timeReader('response_header_timeout_secs', MAX_ANSWER_SECS, true) },
  ],
  ['read_timeout', { form: 'read_timeout <duration>|off', args: 1, read: timeReader('read_timeout_secs', MAX_ANSWER_SECS, true) }],
  ['request_timeout', { form: 'request_timeout <duration>|off', args: 1, read: timeReader('request_timeout_secs', MAX_ANSWER_SECS, true) }],
  ['max_response_header_size', { form: 'max_response_header_size <size>', args: 1, read: readSize }],
]);
/** The options of the block. */
export const TRANSPORT_OPTIONS: readonly string[] = [...OPTIONS.keys()];

/** Other proxies have the word `http` before the block. */
const PROTOCOLS = ['h2', 'h2c', 'http/1.1', 'http'];

export const transport: Rule<SiteDraft> = {
  name: 'transport',
  form: 'transport [h2|h2c|http/1.1|http] [{ … }]',
  scopes: ['site', 'handle'],
  args: [0, 1],
  block: 'optional',
  repeats: false,
  read({ name, args: [protocol], block }, draft, context) {
    const { report } = context;
    if (!protocol && !block) return report.error(name, `transport is missing an argument: write ${transport.form}`);
    const spec: Draft = {};
    if (protocol?.text === 'h2' || protocol?.text === 'h2c') spec.protocol = protocol.text;
    else if (protocol && !PROTOCOLS.includes(protocol.text))
      report.error(protocol, `transport ${quote(protocol.text)}: the protocols are ${PROTOCOLS.join(', ')}`);
    const seen: Word[] = [];
    for (const line of block === null ? [] : context.expanded(block).lines) readOption(line, seen, spec, context);
    // Even the default transport is set, because it overrides that of the site.
    draft.members.transport = Object.keys(spec).length === 0 ? null : spec;
  },
};

function readOption({ name, args, block }: Directive, seen: Word[], spec: Draft, context: Context): void {
  const { report } = context;
  const option = OPTIONS.get(name.text);
  if (option === undefined) {
    const forms = [...OPTIONS.values()].map(({ form }) => form).join(', ');
    return report.error(name, `transport has no ${quote(name.text)}: ${CADDY_TRANSPORT.get(name.text) ?? `write ${forms}, one per line`}`);
  }
  const { form, read, args: wanted } = option;
  const earlier = firstOf(seen, name.text);
  seen.push(name);
  if (earlier) return report.error(name, `${name.text} is already in ${lineOf(earlier, name)}; keep one of them`);
  if (block) return report.error(block.open, `${name.text} takes no block: write ${form}`);
  const surplus = args[wanted];
  if (surplus) return report.error(surplus, `${quote(surplus.text)} is one argument too many for ${name.text}: write ${form}`);
  if (args.length < wanted) return report.error(name, `${name.text} is missing an argument: write ${form}`);
  const [first, last = first] = args;
  if (!read || !first || !last) spec.insecure = true;
  else read(first, spec, (why) => report.error(first, `${name.text} ${quote(first.text)}: ${why}`), context, last);
}

/** Reads a time limit of at most `most` seconds into a member; `offable`: it may be `off`, or less than a second. */
function timeReader(
  member: 'dial_timeout_secs' | 'response_header_timeout_secs' | 'read_timeout_secs' | 'request_timeout_secs',
  most: number,
  offable: boolean,
): ReadArguments {
  const alsoOff = offable ? '; off is no limit' : '';
  return ({ text }, spec, refuse) => {
    const time = parseDuration(offable && (text === 'off' || text === '0') ? '0s' : text);
    if (!time.ok) return refuse(`${time.reason}${alsoOff}`);
    const secs = time.value / 1_000;
    if ((offable || (Number.isInteger(secs) && secs > 0)) && secs <= most) spec[member] = secs;
    else refuse(offable ? `at most ${most}s${alsoOff}` : `whole seconds, 1s to ${most}s`);
  };
}

function readSize({ text }: Word, spec: Draft, refuse: Refuse): void {
  const size = parseSize(text);
  const { min, max } = RESPONSE_HEADER_BYTES;
  if (!size.ok) refuse(size.reason);
  else if (size.value >= min && size.value <= max) spec.max_response_header_bytes = size.value;
  else refuse(`${min / 1_024}kb to ${max / 1_048_576}mb`);
}

function readName({ text }: Word, spec: Draft, refuse: Refuse): void {
  const name = readServerName(text);
  if (name.ok) spec.server_name = name.value;
  else refuse(name.reason);
}

function readCa(word: Word, spec: Draft, refuse: Refuse, { textOf }: Context): void {
  const text = textOf(word);
  const authorities = text.ok ? readAuthorities(text.value) : text;
  if (authorities.ok) spec.ca = authorities.value;
  else refuse(authorities.reason);
}

/** The files are read again whenever they change. */
function readPair(certificate: Word, spec: Draft, _: Refuse, { report, textOf, now }: Context, key: Word): void {
  const refuse = (word: Word, why: string): void => report.error(word, `tls_client_auth ${why}`);
  const [chainText, keyText] = [certificate, key].map((word) => {
    const text = textOf(word);
    if (!text.ok) refuse(word, `${quote(word.text)}: ${text.reason}`);
    return text.ok ? text.value : undefined;
  });
  if (chainText === undefined || keyText === undefined) return;
  const places = { certificate: quote(certificate.text), privateKey: quote(key.text) };
  const read = readClientPair(chainText, keyText, places);
  if (!read.ok) return refuse(read.reason.startsWith(`${places.privateKey}:`) ? key : certificate, read.reason);
  const { notAfter, ...pair } = read.value;
  spec.client_certificate = pair;
  const day = new Date(notAfter).toISOString().slice(0, 10);
  if (notAfter <= now) report.warn(certificate, `tls_client_auth ${quote(certificate.text)}: it expired on ${day}; provide a newer one`);
}
