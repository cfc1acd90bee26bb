import type { Condition } from '../../condition.ts';
import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { isConstant, templateParts } from '../../placeholders/template.ts';
import { MAX_HEADERS } from '../header/change.ts';
import { type ChangeRules, type FieldChange, readChange } from '../header/change-line.ts';
import { faultOfRequestHeader, HOST_VALUE, isHost, OF_TARGET } from './names.ts';

const FORM = '[+|-|?]<Name> [<value>|<find> <replacement>]';

type Header = Omit<FieldChange, 'deferred'> & { match?: Condition | undefined };
export type RequestHeaderPart = { request_headers?: Header[] | undefined };

const rulesOf = (directive: string): ChangeRules => ({
  directive,
  prefixes: '+-?',
  refuse: (name, removes) =>
    removes && isHost(name) ? 'a request always has a host; set it instead, as in Host {upstream_hostport}' : faultOfRequestHeader(name),
  scopeOf: (name, value) => (isHost(name) && OF_TARGET.has(value) ? 'target' : 'request'),
});

export const requestHeaderDirective: Grammar<RequestHeaderPart> = {
  name: 'request_header',
  otherNames: ['proxy_set_header', 'set_header'],
  form: `request_header ${FORM}, or a block with one ${FORM} per line`,
  args: [1, Number.POSITIVE_INFINITY],
  block: 'instead',
  repeats: true,
  matcher: 'before',
  read({ name, args, block }, part, { report }, condition) {
    if (block?.lines.length === 0) report.error(name, `the request_header block is empty: write one ${FORM} per line, or delete it`);
    const [first, ...values] = args;
    const lines = block?.lines ?? (first ? [{ name: first, args: values, block: null }] : []);
    for (const line of lines) {
      if (line.block) report.error(line.block.open, 'a request_header line takes no block');
      readRequestHeader('request_header', line, condition === null ? {} : { match: condition }, part, report);
    }
  },
};

/** The form of `header_up`, which changes requests for the upstreams of one reverse_proxy. */
export const HEADER_UP_FORM = `header_up ${FORM}`;

/** Fields that are sent anyway, by their values. */
export type SentAnyway = ReadonlyMap<string, readonly string[]>;

/** Fields that many Caddyfiles set although both proxies send them anyway. */
export const SENT_ANYWAY: SentAnyway = new Map([
  ['x-real-ip', ['{remote_host}', '{http.request.remote.host}', '{client_ip}']],
  ['x-forwarded-for', ['{remote_host}', '{http.request.remote.host}', '{client_ip}']],
  ['x-forwarded-proto', ['{scheme}', '{http.request.scheme}']],
  ['x-forwarded-host', ['{host}', '{hostport}', '{http.request.host}', '{http.request.hostport}']],
]);

/** Reads a line of `header_up` in the block of reverse_proxy. */
export function readHeaderUp({ args: [name, ...args] }: Directive, part: RequestHeaderPart, report: DirectiveContext['report']): void {
  if (name && !isSentAnyway(name, args, SENT_ANYWAY, report))
    readRequestHeader('header_up', { name, args }, { upstream_only: true }, part, report);
}

/** Whether a line of `header_up` sets a field that is sent anyway, which is a warning. */
export function isSentAnyway(name: Word, [value, extra]: readonly Word[], sent: SentAnyway, report: DirectiveContext['report']): boolean {
  const isSent = value !== undefined && extra === undefined && sent.get(name.text.toLowerCase())?.includes(value.text) === true;
  if (isSent) report.warn(name, `header_up ${name.text} is not needed: the proxy always sends this header; delete the line`);
  return isSent;
}

/** Reads one line that changes a request header; `directive` is its name, for errors. */
export function readRequestHeader(
  directive: string,
  { name, args }: Pick<Directive, 'name' | 'args'>,
  marks: Pick<Header, 'match' | 'upstream_only'>,
  part: RequestHeaderPart,
  report: DirectiveContext['report'],
): void {
  const change = readChange(name, args, rulesOf(directive), report);
  if (change === undefined) return;
  const { request_headers: headers = [] } = part;
  const fault = isHost(change.name) ? faultOfHost(change) : undefined;
  if (fault !== undefined) return report.error(args[0] ?? name, `${directive} ${quote(name.text)}: ${fault}`);
  if (headers.length === MAX_HEADERS) return report.error(name, `a block has at most ${MAX_HEADERS} request headers`);
  part.request_headers = [...headers, { ...change, ...marks }];
}

/** What is wrong with a change of Host, apart from removing it. */
export function faultOfHost({
  value,
  op,
}: {
  readonly value: string | null;
  readonly op?: FieldChange['op'] | undefined;
}): string | undefined {
  if (value === null) return 'a request always has a host';
  if (op !== undefined) return 'a request has one host: it can only be set';
  if (OF_TARGET.has(value)) return undefined;
  const parts = templateParts(value, 'request');
  return isConstant(parts) && !HOST_VALUE.test(value) ? 'the value must be a host, or a host and a port' : undefined;
}
