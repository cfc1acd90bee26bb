import { CLASS, HTAB, SP, TOKEN } from './chars.ts';

/**
 * The protocols that an Upgrade field lists, as written (RFC 9110 7.8: `token [ "/" token ]`, separated by commas; empty elements are
 * ignored, 5.6.1.2). @returns null if any element is malformed.
 */
export function protocolsIn(list: string): readonly string[] | null {
  const protocols: string[] = [];
  for (const element of list.split(',')) {
    const protocol = withoutOws(element);
    if (protocol === '') continue;
    if (!isProtocol(protocol)) return null;
    protocols.push(protocol);
  }
  return protocols;
}

function isProtocol(text: string): boolean {
  const slash = text.indexOf('/');
  return slash < 0 ? isToken(text) : isToken(text.slice(0, slash)) && isToken(text.slice(slash + 1));
}

/** Removes leading and trailing spaces and tabs, which are all that OWS allows (RFC 9110 5.6.3). `trim` would remove more. */
export function withoutOws(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isOws(text.charCodeAt(from))) from++;
  while (to > from && isOws(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

/** RFC 9110 5.6.3. */
export const isOws = (code: number): boolean => code === SP || code === HTAB;

/** RFC 9110 5.6.2. `text` is Latin-1. */
export function isToken(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (((CLASS[text.charCodeAt(at)] as number) & TOKEN) === 0) return false;
  return text.length > 0;
}
