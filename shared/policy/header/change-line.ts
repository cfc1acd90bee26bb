import { readTemplate } from '../../config-file/placeholder.ts';
import { quote, unquoted } from '../../config-file/quote.ts';
import type { Position, Word } from '../../config-file/word.ts';
import type { Scope } from '../../placeholders/names.ts';
import { HEADER_NAME, HEADER_VALUE, LONGEST_HEADER_NAME, LONGEST_HEADER_VALUE } from '../../response-header.ts';
import type { OPERATIONS } from './change.ts';

/** The forms of a line, for errors. */
export const CHANGE_FORM = '[+|-|?|>]<Name> [<value>|<find> <replacement>]';

/** One line that changes a header field. */
export type FieldChange = {
  readonly name: string;
  readonly value: string | null;
  readonly op?: (typeof OPERATIONS)[number] | undefined;
  readonly find?: string | undefined;
  readonly deferred?: true | undefined;
  readonly upstream_only?: true | undefined;
};

/** The differences between `header` and `request_header`. */
export type ChangeRules = {
  /** The name of the directive, for errors. */
  readonly directive: string;
  readonly prefixes: string;
  /** Why a field can't be changed; undefined if it can. */
  refuse(name: string, removes: boolean): string | undefined;
  scopeOf(name: string, value: string): Scope;
};

type Report = { error(place: Position, message: string): void };

/** Text to find that looks like a pattern. In backquotes it is literal. */
const PATTERN = /[\\^$*+?()[\]|]/;

/** How values of some fields begin: with a word that is hardly a text to find, and followed by another one. */
const BEGINNINGS: readonly { readonly name: RegExp; readonly word: RegExp }[] = [
  { name: /authorization$/i, word: /^(?:basic|bearer|digest|token|apikey)$/i },
  {
    name: /^content-security-policy(?:-report-only)?$/i,
    word: /^(?:(?:[a-z]+-)+src(?:-attr|-elem)?|base-uri|form-action|frame-ancestors|report-to|report-uri|require-trusted-types-for|sandbox|trusted-types)(?: |$)/i,
  },
];

/** Reads `X-A b`, `-X-A`, `+X-A b`, `?X-A b`, `>X-A b` or `X-A find replacement`; undefined, and reported, if it is wrong. */
export function readChange(word: Word, values: readonly Word[], rules: ChangeRules, report: Report): FieldChange | undefined {
  const refuse = (place: Word, why: string): undefined => {
    report.error(place, `${rules.directive} ${quote(word.text)}: ${why}`);
    return undefined;
  };
  const sign = word.style === 'bare' && rules.prefixes.includes(word.text.charAt(0)) ? word.text.charAt(0) : '';
  const name = word.text.slice(sign.length);
  const [value, replacement, extra] = values;
  const removes = sign === '-';
  const wrongName = faultOfName(name, removes, rules) ?? rules.refuse(name, removes);
  if (wrongName !== undefined) return refuse(word, wrongName);
  if (removes) {
    if (value === undefined) return { name, value: null };
    report.error(value, `${rules.directive} ${quote(word.text)} removes the header and takes no value`);
    return undefined;
  }
  if (value === undefined) {
    const instead = `write ${unquoted(word.text)} "<value>"${sign === '' ? `, or -${unquoted(name)} to remove it` : ''}`;
    report.error(word, `${rules.directive} ${quote(word.text)} has no value: ${instead}`);
    return undefined;
  }
  if (replacement !== undefined && (extra !== undefined || sign === '+' || sign === '?' || /[,;]$/.test(value.text))) {
    report.error(extra ?? replacement, `${rules.directive} ${quote(word.text)} has several values: put the value in quotes`);
    return undefined;
  }
  // One that is removed, or replaced by another, is meant to be found.
  const beginning = BEGINNINGS.find((one) => one.name.test(name))?.word;
  const isMeant = ({ text }: Word): boolean => text === '' || beginning?.test(text) === true;
  if (replacement !== undefined && value.style === 'bare' && beginning?.test(value.text) && !isMeant(replacement))
    return refuse(replacement, `put the whole value in quotes, or only ${quote(value.text)} if it is to be replaced`);
  const text = readValue(replacement ?? value, name, rules);
  if ('fault' in text) return refuse(replacement ?? value, text.fault);
  const deferred = sign === '>' ? { deferred: true as const } : {};
  if (replacement === undefined)
    return { name, value: text.text, ...(sign === '+' ? { op: 'add' } : sign === '?' ? { op: 'default' } : deferred) };
  const find = faultOfText(value.text) ?? (value.text === '' ? 'the text to find is empty' : undefined);
  if (find !== undefined) return refuse(value, find);
  if (value.style !== 'raw' && PATTERN.test(value.text))
    return refuse(
      value,
      `the text to find is plain text, not a pattern: put it in backquotes if ${quote(value.text)} is meant literally, or quote the value if it has spaces`,
    );
  return { name, value: text.text, op: 'replace', find: value.text, ...deferred };
}

function faultOfName(name: string, removes: boolean, { directive, prefixes }: ChangeRules): string | undefined {
  if (name.startsWith('/')) return `${directive} takes no path: put it in a handle block`;
  if (/^[+?>]/.test(name))
    return prefixes.includes(name.charAt(0))
      ? `write ${unquoted(name)} without quotation marks, and with one sign`
      : `${directive} has no ${quote(name.charAt(0))}: write ${unquoted(name.slice(1))} or -${unquoted(name.slice(1))}`;
  if (/^[^:]+:$/.test(name)) return `a header name must not end with a colon: write ${unquoted(name.slice(0, -1))}`;
  if (!HEADER_NAME.test(name)) return 'a header name consists of letters, digits and hyphens';
  if (name.length > LONGEST_HEADER_NAME) return `a header name is at most ${LONGEST_HEADER_NAME} characters long`;
  if (!removes && name.includes('*')) return `"*" stands for any text only when fields are removed: write -${unquoted(name)}`;
  return name.slice(1, -1).includes('*') ? '"*" is allowed only at the beginning and the end of a name' : undefined;
}

function faultOfText(text: string): string | undefined {
  if (!HEADER_VALUE.test(text)) return 'a value must not contain control characters or characters above U+00FF';
  return text.length > LONGEST_HEADER_VALUE ? `a value is at most ${LONGEST_HEADER_VALUE} characters long` : undefined;
}

function readValue(word: Word, name: string, { scopeOf }: ChangeRules): { readonly text: string } | { readonly fault: string } {
  const fault = faultOfText(word.text);
  if (fault !== undefined) return { fault };
  const read = readTemplate(word, scopeOf(name, word.text));
  return 'text' in read && read.text.length > LONGEST_HEADER_VALUE
    ? { fault: `a value is at most ${LONGEST_HEADER_VALUE} characters long` }
    : read;
}
