import { type Directive, type DirectiveContext, firstOf } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { isMatcher, type Word } from '../../config-file/word.ts';
import { readRedirect } from '../redirect/directive.ts';

/** Rejections of the authentication server that the client gets as a redirect, for servers that don't redirect themselves. */
export type Rejection = { statuses: number[]; to: string; status: 301 | 302 | 303 | 307 | 308 };

export const MAX_REJECTIONS = 20;
export const STATUSES = { least: 300, most: 599 } as const;
/** 3 to 5 stand for a whole class. */
export const isRejected = (status: number): boolean =>
  Number.isInteger(status) && ((status >= 3 && status <= 5) || (status >= STATUSES.least && status <= STATUSES.most));

const MATCHER_FORM = '@<name> status <code> [<code> …]';
export const RESPONSE_FORM = 'handle_response @<name> { redir <to> [<status>] }';

type Report = DirectiveContext['report'];
export type NamedStatuses = Map<string, number[]>;

/** `@error status 401`, as in a Caddyfile. */
export function readStatuses({ name, args: [kind, ...codes], block }: Directive, named: NamedStatuses, report: Report): void {
  if (named.has(name.text)) return report.error(name, `${quote(name.text)} is already defined; keep one of them`);
  if (kind?.text !== 'status' || codes.length === 0 || block)
    return report.error(name, `${quote(name.text)}: in forward_auth, write ${MATCHER_FORM}`);
  const statuses: number[] = [];
  for (const word of codes) {
    const status = /^[3-5]xx$/i.test(word.text) ? Number(word.text[0]) : /^\d{3}$/.test(word.text) ? Number(word.text) : 0;
    if (isRejected(status)) statuses.push(status);
    else report.error(word, `status ${quote(word.text)}: a status from ${STATUSES.least} to ${STATUSES.most}, or 3xx, 4xx or 5xx`);
  }
  named.set(name.text, statuses);
}

/** `handle_response @error { redir /login }`, as in a Caddyfile. */
export function readResponse({ name, args, block }: Directive, named: NamedStatuses, report: Report): Rejection | null {
  const [matcher, extra] = args;
  const refuse = (word: Word): null => {
    report.error(word, `write ${RESPONSE_FORM}, with ${MATCHER_FORM} above it`);
    return null;
  };
  if (!matcher || !isMatcher(matcher) || extra || !block) return refuse(extra ?? matcher ?? name);
  const statuses = named.get(matcher.text);
  if (!statuses) return refuse(matcher);
  const [line, second] = block.lines;
  const redirect = line && firstOf([line.name], 'redir');
  if (!line || !redirect || line.block || second) return refuse(second?.name ?? line?.name ?? name);
  const read = readRedirect(line, report);
  return read && { statuses, ...read };
}
