import { didYouMean } from '../closest.ts';
import { ELSEWHERE, INDEXED, PLAIN_NAMES, type PlainName, PREFIXES, type PrefixName, type Scope, SUGGESTED } from './names.ts';

/** The maximum number of placeholders in one text, so that a short text can't produce a huge value. */
export const MAX_PLACEHOLDERS = 32;

/** A placeholder by its long name. A header's `argument` is in lower case. */
export type Placeholder = { readonly name: PlainName; readonly argument: '' } | { readonly name: PrefixName; readonly argument: string };

/** A piece of a text: literal, or replaced for each request. Two literal pieces are never adjacent. */
export type TemplatePart = { readonly text: string } | { readonly placeholder: Placeholder };

/** A placeholder that does not exist, as written, and what is wrong with it: `is not a placeholder (did you mean "host"?)`. */
export type TemplateFault = { readonly written: string; readonly fault: string };

export type Template = { readonly parts: readonly TemplatePart[] } | TemplateFault;

/**
 * Text that looks like a placeholder. Braces around anything else are literal, so JSON and CSS need no escapes. A brace after a backslash
 * is literal too.
 */
const PLACEHOLDER = /\{(\??[A-Za-z][A-Za-z0-9_.?~-]*)\}/y;
/** The beginning of anything but literal text. */
const SPECIAL = /\\[{}]|\{/g;

/** Reads a text with placeholders. */
export function parseTemplate(text: string, scope: Scope): Template {
  const parts: TemplatePart[] = [];
  let literal = '';
  let count = 0;
  let at = 0;
  for (const { 0: special, index } of text.matchAll(SPECIAL)) {
    if (index < at) continue;
    literal += text.slice(at, index);
    if (special.length === 2) {
      literal += special[1];
      at = index + 2;
      continue;
    }
    PLACEHOLDER.lastIndex = index;
    const [written, name] = PLACEHOLDER.exec(text) ?? [];
    if (written === undefined || name === undefined) {
      literal += special;
      at = index + 1;
      continue;
    }
    const placeholder = placeholderOf(name, scope);
    if (typeof placeholder === 'string') return { written, fault: placeholder };
    if (++count > MAX_PLACEHOLDERS) return { written, fault: `is one too many: a value has at most ${MAX_PLACEHOLDERS} placeholders` };
    if (literal !== '') parts.push({ text: literal });
    literal = '';
    parts.push({ placeholder });
    at = index + written.length;
  }
  literal += text.slice(at);
  if (literal !== '' || parts.length === 0) parts.push({ text: literal });
  return { parts };
}

/** The parts of a text that was validated before. */
export function templateParts(text: string, scope: Scope): readonly TemplatePart[] {
  const template = parseTemplate(text, scope);
  if ('fault' in template) throw new Error(`${template.written} ${template.fault}`);
  return template.parts;
}

/** What is wrong with a text, for an API error; undefined if nothing is. */
export function faultOfTemplate(text: string, scope: Scope): string | undefined {
  const template = parseTemplate(text, scope);
  return 'fault' in template ? `"${template.written}" ${template.fault}` : undefined;
}

export const isConstant = (parts: readonly TemplatePart[]): boolean => parts.every((part) => 'text' in part);

/** A text in which nothing is a placeholder. */
export const escapedBraces = (text: string): string => text.replace(/[{}]/g, (brace) => `\\${brace}`);

/** @returns what is wrong with the name, if it is not that of a placeholder. */
function placeholderOf(name: string, scope: Scope): Placeholder | string {
  const plain = PLAIN_NAMES.get(name);
  if (plain !== undefined) return missing(plain.scope, scope) ?? { name: plain.name, argument: '' };
  for (const [prefix, known] of PREFIXES) {
    if (!name.startsWith(prefix) || name.length === prefix.length) continue;
    const argument = name.slice(prefix.length);
    if (INDEXED.has(known.name) && !/^\d{1,3}$/.test(argument)) continue;
    const isHeader = known.name === 'http.request.header.' || known.name === 'http.response.header.';
    return missing(known.scope, scope) ?? { name: known.name, argument: isHeader ? argument.toLowerCase() : argument };
  }
  const elsewhere = ELSEWHERE.find(([begin]) => name.startsWith(begin));
  if (elsewhere !== undefined) return elsewhere[1];
  return `is not a placeholder${didYouMean(name, SUGGESTED) || '; use one of host, path, query, uri, header.NAME, client_ip … in braces, or write \\{ for a brace'}`;
}

/** Why a placeholder of one scope has no value in another; undefined if it has one. */
function missing(needs: Scope, scope: Scope): string | undefined {
  if (needs === 'request' || needs === scope) return undefined;
  return needs === 'answer'
    ? 'belongs to a response, which does not exist yet here'
    : 'is known only when a target is chosen: use it as request_header Host {upstream_hostport}';
}
