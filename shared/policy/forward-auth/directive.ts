import { didYouMean } from '../../closest.ts';
import { type Directive, type DirectiveContext, firstOf, type Grammar } from '../../config-file/directive.ts';
import { readTemplate } from '../../config-file/placeholder.ts';
import { quote } from '../../config-file/quote.ts';
import { isMatcher, lineOf, type Word } from '../../config-file/word.ts';
import { type Address, parseUpstream } from '../../values/address.ts';
import { parseDuration } from '../../values/duration.ts';
import { NAME_TOKEN } from '../../values/token.ts';
import { HEADER_UP_FORM, type RequestHeaderPart } from '../request-header/directive.ts';
import { readQuestionHeader } from './question-headers.ts';
import { MAX_REJECTIONS, type NamedStatuses, RESPONSE_FORM, type Rejection, readResponse, readStatuses } from './rejections.ts';
import { faultOfUri } from './uri.ts';

export const MAX_UPSTREAMS = 100;
export const MAX_COPIED = 50;
export const DEFAULT_TIMEOUT_SECS = 10;
export const MAX_TIMEOUT_SECS = 300;

/** Fields that frame a message or belong to one connection, or that the proxy itself sets. */
const UNCOPYABLE =
  /^(?:connection|content-length|content-encoding|content-type|date|expect|forwarded|host|http2-settings|keep-alive|proxy(?:-.*)?|te|trailer|transfer-encoding|upgrade|x-forwarded-(?:for|host|proto)|x-real-ip|x-request-id)$/i;
export const COPYABLE = {
  accepts: (name: string): boolean => !UNCOPYABLE.test(name),
  reason: 'the proxy sets or removes this header itself',
};

/** Two spellings that applications may take for the same header. */
const spelling = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, () => '-');
export const COPIED_TWICE = 'another value is copied to this header already; keep one of them';

/** The upstream would not know which of two values counts. */
export const faultOfCopied = (list: readonly { readonly to: string }[]): string | undefined =>
  new Set(list.map(({ to }) => spelling(to))).size === list.length ? undefined : COPIED_TWICE;

type Copied = { from: string; to: string };
type ForwardAuth = {
  upstreams: Address[];
  tls: boolean;
  uri: string;
  copy_headers: Copied[];
  pass_cookies?: boolean;
  request_headers?: RequestHeaderPart['request_headers'];
  rejections?: Rejection[];
  timeout_secs: number;
};
type Option = {
  readonly form: string;
  readonly repeats?: true;
  read(args: readonly Word[], auth: ForwardAuth, report: DirectiveContext['report'], name: Word): void;
};

const OPTIONS: Readonly<Record<string, Option>> = {
  uri: {
    form: 'uri <path>',
    read([word, extra], auth, report, name) {
      if (!word) return report.error(name, `uri is missing an argument: write ${OPTIONS.uri?.form}`);
      if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for uri: write ${OPTIONS.uri?.form}`);
      // In backquotes nothing is a placeholder.
      const template = readTemplate(word, 'request');
      const fault = 'fault' in template ? template.fault : faultOfUri(template.text);
      if ('text' in template && fault === undefined) auth.uri = template.text;
      else report.error(word, `uri ${quote(word.text)}: ${fault}`);
    },
  },
  copy_headers: { form: 'copy_headers <Name>[><Name>] …', repeats: true, read: readCopied },
  header_up: {
    form: HEADER_UP_FORM,
    repeats: true,
    read([changed, ...values], auth, report, name) {
      if (changed) readQuestionHeader(changed, values, auth, report);
      else report.error(name, `header_up is missing an argument: write ${HEADER_UP_FORM}`);
    },
  },
  pass_cookies: {
    form: 'pass_cookies',
    read([extra], auth, report) {
      if (extra) report.error(extra, `${quote(extra.text)} is one argument too many for pass_cookies: write ${OPTIONS.pass_cookies?.form}`);
      else auth.pass_cookies = true;
    },
  },
  timeout: {
    form: 'timeout <duration>',
    read([word, extra], auth, report, name) {
      if (!word || extra) return report.error(extra ?? name, `write ${OPTIONS.timeout?.form}`);
      const time = parseDuration(word.text);
      const secs = time.ok ? time.value / 1_000 : 0;
      if (!time.ok) report.error(word, `timeout ${quote(word.text)}: ${time.reason}`);
      else if (!Number.isInteger(secs) || secs < 1 || secs > MAX_TIMEOUT_SECS)
        report.error(word, `timeout ${quote(word.text)}: whole seconds, from 1s to ${MAX_TIMEOUT_SECS}s`);
      else auth.timeout_secs = secs;
    },
  },
};
const FORMS = [...Object.values(OPTIONS).map(({ form }) => form), RESPONSE_FORM];

/** Options in Caddy's block, and what to write here instead. */
const FOREIGN: ReadonlyMap<string, string> = new Map([
  ['trusted_proxies', 'delete it, or write it as a global option if clients reach this proxy through another one: it applies to all sites'],
  ['transport', 'write https:// before the address for TLS'],
  ['method', 'the authentication server is always asked with GET: leave it out'],
]);

export const forwardAuthDirective: Grammar<{ forward_auth?: ForwardAuth | null | undefined }> = {
  name: 'forward_auth',
  otherNames: ['auth_request', 'forwardauth'],
  form: 'forward_auth <host:port> [<host:port> …] { uri <path> }',
  args: [1, MAX_UPSTREAMS],
  block: 'required',
  repeats: false,
  read({ name, args, block }, part, { report, expanded }) {
    const auth: ForwardAuth = { upstreams: [], tls: false, uri: '/', copy_headers: [], timeout_secs: DEFAULT_TIMEOUT_SECS };
    // Also with mistakes, so that a mistake never leaves a protected site open.
    part.forward_auth = auth;
    readUpstreams(args, auth, report);
    const seen: Word[] = [];
    const named: NamedStatuses = new Map();
    for (const line of block ? expanded(block).lines : [])
      if (isMatcher(line.name)) readStatuses(line, named, report);
      else if (line.name.text === 'handle_response') readRejection(line, named, auth, report);
      else readOption(line, seen, auth, report);
    if (!firstOf(seen, 'uri')) report.error(name, `forward_auth needs the path to request: write ${OPTIONS.uri?.form} in its block`);
  },
};

function readUpstreams(words: readonly Word[], auth: ForwardAuth, report: DirectiveContext['report']): void {
  auth.tls = words[0]?.text.startsWith('https://') === true;
  for (const word of words) {
    const [, scheme, rest] = /^(https?:\/\/)?(.*)$/s.exec(word.text) ?? [];
    const address = parseUpstream(rest ?? '');
    if (!address.ok) report.error(word, `forward_auth ${quote(word.text)}: ${address.reason}`);
    else if ((scheme === 'https://') !== auth.tls)
      report.error(word, `forward_auth ${quote(word.text)}: its addresses must all have https://, or none of them`);
    else auth.upstreams.push(address.value);
  }
}

function readRejection(line: Directive, named: NamedStatuses, auth: ForwardAuth, report: DirectiveContext['report']): void {
  const rejection = readResponse(line, named, report);
  if (rejection) auth.rejections = [...(auth.rejections ?? []), rejection];
  if (auth.rejections && auth.rejections.length > MAX_REJECTIONS)
    report.error(line.name, `forward_auth has at most ${MAX_REJECTIONS} handle_response blocks`);
}

function readOption({ name, args, block }: Directive, seen: Word[], auth: ForwardAuth, report: DirectiveContext['report']): void {
  const option = Object.hasOwn(OPTIONS, name.text) ? OPTIONS[name.text] : undefined;
  const instead = FOREIGN.get(name.text);
  if (instead) return report.error(name, `forward_auth has no ${quote(name.text)}: ${instead}`);
  if (!option)
    return report.error(
      name,
      `forward_auth has no ${quote(name.text)}${didYouMean(name.text, [...Object.keys(OPTIONS), 'handle_response']) || `: write ${FORMS.join(', ')}, one per line`}`,
    );
  const earlier = option.repeats ? undefined : firstOf(seen, name.text);
  seen.push(name);
  if (earlier) return report.error(name, `${name.text} is already in ${lineOf(earlier, name)}; keep one of them`);
  // Caddy also lists the headers in a block.
  const words = name.text === 'copy_headers' && block ? block.lines.flatMap((line) => [line.name, ...line.args]) : args;
  if (block && name.text !== 'copy_headers') return report.error(block.open, `${name.text} takes no block: write ${option.form}`);
  option.read(words, auth, report, name);
}

function readCopied(words: readonly Word[], auth: ForwardAuth, report: DirectiveContext['report'], name: Word): void {
  if (words.length === 0) report.error(name, `copy_headers is missing an argument: write ${OPTIONS.copy_headers?.form}`);
  for (const word of words) {
    const [from = '', to = from, ...more] = word.text.split('>');
    const refuse = (why: string): void => report.error(word, `copy_headers ${quote(word.text)}: ${why}`);
    if (more.length > 0 || !NAME_TOKEN.test(from) || !NAME_TOKEN.test(to)) refuse('write the name of a header, or two with > between them');
    else if (!COPYABLE.accepts(to) || !COPYABLE.accepts(from)) refuse(COPYABLE.reason);
    else if (faultOfCopied([...auth.copy_headers, { to }])) refuse(COPIED_TWICE);
    else if (auth.copy_headers.length === MAX_COPIED) return refuse(`at most ${MAX_COPIED} headers are copied`);
    else auth.copy_headers.push({ from, to });
  }
}
