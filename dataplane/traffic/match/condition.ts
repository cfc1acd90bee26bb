import { isIPv4 } from 'node:net';
import type {
  Condition,
  FieldCondition,
  ParameterCondition,
  PatternCondition,
  PlainCondition,
  ShareCondition,
} from '../../../shared/condition.ts';
import { type Cidr, matcherOf } from '../../../shared/values/cidr.ts';
import { formDecodedText } from '../../../shared/values/form-decoded.ts';
import { compileRegexp } from '../../../shared/values/regexp.ts';
import { withoutOws } from '../codec/http1/protocols.ts';
import type { Exchange, LocalEnd } from '../exchange/exchange.ts';
import { compilePattern, folded } from './pattern.ts';
import { type DrawnRequest, shareTest } from './share.ts';

/** The properties of a request that a condition needs, besides its path. */
export type MatchedRequest = Pick<Exchange, 'method' | 'target' | 'fields' | 'host' | 'port' | 'secure'> &
  DrawnRequest & { readonly client: { facts(): { readonly connection: { readonly local: LocalEnd | null } } } };

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

function compilePlain(condition: PlainCondition, folds: boolean): Test {
  const { path, method, protocol, port, host, header, query, remote_ip, local_ip, path_regexp, share } = condition;
  const { header_regexp = [], query_regexp = [] } = condition;
  // The cheapest tests come first.
  const tests: Test[] = [];
  if (protocol) tests.push((_, x) => x.secure === (protocol === 'https'));
  if (port) tests.push((_, x) => port.includes(x.port));
  if (local_ip) tests.push(localTest(local_ip));
  if (method) tests.push((_, x) => method.includes(x.method));
  if (host) tests.push(hostTest(host));
  if (path) tests.push(pathTest(path, folds));
  if (remote_ip) tests.push(addressTest(matcherOf(remote_ip)));
  for (const field of header ?? []) tests.push(headerTest(field));
  for (const parameter of query ?? []) tests.push(queryTest(parameter));
  if (path_regexp) tests.push(pathExpressionTest(path_regexp, folds));
  for (const [name, matches] of expressionsByName(header_regexp, (name) => name.toLowerCase()))
    tests.push((_, x) => hasField(x.fields, name, matches));
  for (const [name, matches] of expressionsByName(query_regexp, (name) => name))
    tests.push((_, x) => hasParameter(x.target, name, matches));
  if (share) tests.push(sharedTest(share));
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

function sharedTest(share: ShareCondition): Test {
  const isWithin = shareTest(share);
  return (_, x) => isWithin(x);
}

const addressTest =
  (contains: (address: string) => boolean): Test =>
  (_, x) =>
    contains(x.client.address);

/** A request that did not arrive over a connection, such as one that is only explained, matches. */
function localTest(ranges: readonly Cidr[]): Test {
  // A socket that is open to IPv6 has its IPv4 addresses as mapped ones (RFC 4291 2.5.5.2).
  const exact = ranges.every((range) => isIPv4(range)) ? new Set(ranges.flatMap((range) => [range, `::ffff:${range}`])) : null;
  const contains = exact === null ? matcherOf(ranges) : (address: string) => exact.has(address);
  return (_, x) => {
    const { local } = x.client.facts().connection;
    return local === null || (local.localAddress !== undefined && contains(local.localAddress));
  };
}

function headerTest({ name, values, absent, exact }: FieldCondition): Test {
  const lower = name.toLowerCase();
  const tests = values.map(exact ? exactTest : valueTest);
  const isMatch = (value: string): boolean => tests.length === 0 || tests.some((matches) => matches(value));
  return absent ? (_, x) => !hasField(x.fields, lower, isMatch) : (_, x) => hasField(x.fields, lower, isMatch);
}

/** Field lines are compared byte by byte, as Latin-1. */
function exactTest(written: string): (value: string) => boolean {
  const text = Buffer.from(written).toString('latin1');
  return (value) => value === text;
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
  const isMatch = (value: string): boolean => values.length === 0 || values.includes(value);
  return (_, x) => hasParameter(x.target, name, isMatch);
}

/** Whether the query has a parameter of this name with a matching value, both decoded. */
function hasParameter(target: string, name: string, isMatch: (value: string) => boolean): boolean {
  const mark = target.indexOf('?');
  if (mark < 0) return false;
  return target
    .slice(mark + 1)
    .split('&')
    .some((pair) => {
      const equals = pair.indexOf('=');
      if (formDecodedText(equals < 0 ? pair : pair.slice(0, equals)) !== name) return false;
      return isMatch(equals < 0 ? '' : formDecodedText(pair.slice(equals + 1)));
    });
}

/** Hosts are lower case. `*.` stands for exactly one label. */
function hostTest(hosts: readonly string[]): Test {
  const exact = new Set(hosts.filter((host) => !host.startsWith('*.')));
  const below = new Set(hosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1)));
  return (_, { host }) => exact.has(host) || (below.size > 0 && below.has(host.slice(Math.max(0, host.indexOf('.')))));
}

function pathExpressionTest(patterns: readonly string[], folds: boolean): Test {
  const tests = patterns.map((pattern) => compileRegexp(pattern, folds));
  return (path) => tests.some((matches) => matches(path));
}

/** The tests for each name: any expression of those with one name. */
function expressionsByName(
  conditions: readonly PatternCondition[],
  keyOf: (name: string) => string,
): ReadonlyMap<string, (value: string) => boolean> {
  const byName = Map.groupBy(conditions, ({ name }) => keyOf(name));
  return new Map(
    [...byName].map(([name, some]) => {
      const tests = some.map(({ pattern }) => compileRegexp(pattern));
      return [name, (value: string) => tests.some((matches) => matches(value))];
    }),
  );
}
