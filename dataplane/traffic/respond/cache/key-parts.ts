import type { KeySpec } from '../../../../shared/policy/cache/key.ts';
import { compileQueryRule } from '../../../../shared/policy/cache/query-rule.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import { withoutOws } from '../../codec/http1/protocols.ts';
import { variantOf } from './response.ts';

/** A site's settings for the key: which query parameters, header fields and cookies are part of it. */
export class KeyParts {
  /** The names of the header fields and cookies, so that keys with other names differ. Empty if there are none. */
  readonly names: string;
  /** The rule for query parameters, for the index; empty if all of them are in the key. */
  readonly queryRule: string;
  private readonly filter: ((target: string) => string) | null;
  private last = '';
  private left = '';
  private readonly headers: readonly string[];
  private readonly cookies: readonly string[];

  constructor({ query, ignore_query, headers = [], cookies = [] }: KeySpec) {
    this.filter = compileQueryRule({ query, ignore_query });
    this.queryRule = this.filter === null ? '' : JSON.stringify({ query, ignore_query });
    this.headers = headers.map((name) => name.toLowerCase());
    this.cookies = cookies;
    this.names = headers.length + cookies.length === 0 ? '' : JSON.stringify([this.headers, cookies]);
  }

  /** A target without the parameters that are not in the key. */
  targetOf(target: string): string {
    if (this.filter === null) return target;
    // A request needs it several times, and computing it for a long query takes a while.
    if (target !== this.last) {
      this.left = this.filter(target);
      this.last = target;
    }
    return this.left;
  }

  /** The values of the header fields and cookies, one line for each. */
  valuesOf(fields: string): string {
    const cookies = this.cookies.length === 0 ? [] : pairsIn(fields);
    // If there are several cookies of one name, servers differ in which one they use.
    const values = this.cookies.map((name) => cookies.flatMap((pair) => (nameOf(pair) === name ? [pair] : [])).join(';'));
    return `${variantOf(fields, this.headers)}\n${values.join('\n')}`;
  }

  hasHeader(name: string): boolean {
    return this.headers.includes(name);
  }

  /** Whether a request with these fields has cookies that are not a part of the key. */
  hasOtherCookies(fields: string): boolean {
    return this.cookies.length === 0 || pairsIn(fields).some((pair) => !this.cookies.includes(nameOf(pair)));
  }
}

/** The parts between the semicolons of all Cookie fields. */
const pairsIn = (fields: string): string[] =>
  fieldsIn(fields, 'cookie').flatMap((line) =>
    line
      .split(';')
      .map(withoutOws)
      .filter((pair) => pair !== ''),
  );

/** Exactly as sent, because some servers trim names and others don't; empty without a value. */
const nameOf = (pair: string): string => pair.slice(0, Math.max(0, pair.indexOf('=')));
