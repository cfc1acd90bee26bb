import type { Condition, FieldCondition, ParameterCondition, PlainCondition } from '../../../shared/condition.ts';
import { matcherOf } from '../../../shared/values/cidr.ts';
import { withoutOws } from '../codec/http1/protocols.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { compilePattern, folded } from './pattern.ts';

/** What a condition needs to know about a request, besides its path. */
export type MatchedRequest = Pick<Exchange, 'method' | 'target' | 'fields'> & { readonly client: { readonly address: string } };

/** Whether a request with this path, in its normal form, matches. */
export type Test = (path: string, x: MatchedRequest) => boolean;

/** All members of a condition must match, and none of its exceptions. `folds`: paths are compared case-insensitively. */
export function compileCondition(condition: Condition, folds = false): Test {
  const matches = compilePlain(condition, folds);
  const exceptions = condition.not?.map((exception) => compilePlain(exception, folds)) ?? [];
  if (exceptions.length === 0) return matches;
  return (path, x) => {
    for (const isException of exceptions) if (isException(path, x)) return false;
    return matches(path, x);
  };
}

function compilePlain({ path, method, header, query, remote_ip }: PlainCondition, folds: boolean): Test {
  // The cheapest tests come first.
  const tests: Test[] = [];
  if (method) tests.push((_, x) => method.includes(x.method));
  if (path) tests.push(pathTest(path, folds));
  if (remote_ip) tests.push(addressTest(matcherOf(remote_ip)));
  for (const field of header ?? []) tests.push(headerTest(field));
  for (const parameter of query ?? []) tests.push(queryTest(parameter));
  return (asked, x) => {
    for (const matches of tests) if (!matches(asked, x)) return false;
    return true;
  };
}

function pathTest(texts: readonly string[], folds: boolean): Test {
  const tests = texts.map((text) => (text.startsWith('*') ? partTest(text, folds) : compilePattern(text, folds).matches));
  return (path) => tests.some((matches) => matches(path));
}

function partTest(text: string, folds: boolean): (path: string) => boolean {
  if (!folds) return valueTest(text);
  const matches = valueTest(text.toLowerCase());
  return (path) => matches(folded(path));
}

const addressTest =
  (contains: (address: string) => boolean): Test =>
  (_, x) =>
    contains(x.client.address);

function headerTest({ name, values, absent }: FieldCondition): Test {
  const lower = name.toLowerCase();
  const tests = values.map(valueTest);
  const isMatch = (value: string): boolean => tests.length === 0 || tests.some((matches) => matches(value));
  return absent ? (_, x) => !hasField(x.fields, lower, isMatch) : (_, x) => hasField(x.fields, lower, isMatch);
}

/** `*` at the beginning or the end of a text matches anything. Field lines are compared byte by byte, as Latin-1. */
function valueTest(written: string): (value: string) => boolean {
  const text = Buffer.from(written).toString('latin1');
  const [open, close] = [text.startsWith('*'), text.length > 1 && text.endsWith('*')];
  const core = text.slice(open ? 1 : 0, close ? -1 : undefined);
  if (open && close) return (value) => value.includes(core);
  if (open) return (value) => value.endsWith(core);
  return close ? (value) => value.startsWith(core) : (value) => value === core;
}

/** Whether a field of this name, in lower case, has a matching value. `fields` are whole lines. */
function hasField(fields: string, lower: string, isMatch: (value: string) => boolean): boolean {
  for (let at = 0; at < fields.length; ) {
    const found = fields.indexOf('\r\n', at);
    const end = found < 0 ? fields.length : found;
    if (isNamed(fields, at, lower) && isMatch(withoutOws(fields.slice(at + lower.length + 1, end)))) return true;
    at = end + 2;
  }
  return false;
}

const COLON = 0x3a;

/** Whether the line that begins at `at` is a field of this name, in any letter case. */
function isNamed(fields: string, at: number, lower: string): boolean {
  if (fields.charCodeAt(at + lower.length) !== COLON) return false;
  for (let index = 0; index < lower.length; index++) {
    const code = fields.charCodeAt(at + index);
    const small = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (small !== lower.charCodeAt(index)) return false;
  }
  return true;
}

function queryTest({ name, values }: ParameterCondition): Test {
  return (_, x) => {
    const mark = x.target.indexOf('?');
    if (mark < 0) return false;
    return x.target
      .slice(mark + 1)
      .split('&')
      .some((pair) => {
        const equals = pair.indexOf('=');
        if (decoded(equals < 0 ? pair : pair.slice(0, equals)) !== name) return false;
        return values.length === 0 || values.includes(equals < 0 ? '' : decoded(pair.slice(equals + 1)));
      });
  };
}

/** Decodes as forms do: `+` is a space, escapes are UTF-8. A text that can't be decoded is returned as it was sent. */
function decoded(text: string): string {
  if (!/[+%]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}
