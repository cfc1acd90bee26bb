import { createHmac } from 'node:crypto';
import type { Exchange } from '../../exchange/exchange.ts';
import { cookieIn } from '../../exchange/values/cookie.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer, RoundRobin } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/** Bytes of the value for a target. */
const VALUE_BYTES = 18;
/** It as text. */
const VALUE = '[\\w-]{24}';
/** How many values a cookie has at most. */
const MAX_VALUES = 8;
const SEPARATOR = '.';

/** What a cookie that was set here looks like. */
export const STICKY_VALUE = `${VALUE}(?:\\${SEPARATOR}${VALUE}){0,${MAX_VALUES - 1}}`;
const WHOLE = new RegExp(`^${STICKY_VALUE}$`);
const NONE: readonly string[] = [];

export type StickyTools = {
  /** The same in all workers and after a restart. */
  readonly key: Uint8Array;
  readonly domain: string;
  /** The name of the cookie. */
  readonly name: string;
};

/**
 * Sends a visitor to the same target as before, by a cookie. Its value is a keyed hash of the target's name: it reveals nothing about the
 * target, and no other value selects one. The blocks of a site may have pools of their own and the same cookie, which therefore has a value
 * for each pool, the newest first.
 */
export class StickyCookie implements Balancer {
  private readonly name: string;
  private readonly roundRobin: RoundRobin;
  private readonly byValue: ReadonlyMap<string, Candidate>;
  private readonly values: ReadonlyMap<Endpoint, string>;

  /** `named` has the stable name of each candidate. */
  constructor(named: ReadonlyMap<Candidate, string>, { key, domain, name }: StickyTools, roundRobin: RoundRobin) {
    const cookieFor = (target: string): string =>
      createHmac('sha256', key).update(`${domain}\n${target}`).digest().subarray(0, VALUE_BYTES).toString('base64url');
    const values = [...named].map(([candidate, target]) => [candidate, cookieFor(target)] as const);
    this.name = name;
    this.roundRobin = roundRobin;
    this.byValue = new Map(values.map(([candidate, value]) => [value, candidate]));
    this.values = new Map(values.map(([{ endpoint }, value]) => [endpoint, value]));
  }

  pick(x: Exchange, now: number): Endpoint | null {
    // A request of the cache may not carry it.
    const sent = valuesOf(cookieIn((x.requestPath.routedAs(x) ?? x).fields, this.name));
    const own = sent.find((value) => this.byValue.has(value));
    const known = own === undefined ? undefined : this.byValue.get(own);
    x.affinityLine = '';
    if (known !== undefined && standingOf(known, now, x) === STANDING.usable) return known.endpoint;
    const endpoint = this.roundRobin(x, now);
    if (endpoint !== null && known?.endpoint !== endpoint) x.affinityLine = this.lineFor(endpoint, sent, x.secure);
    return endpoint;
  }

  /** Over HTTPS it is also sent by pages of other sites that embed this one. */
  private lineFor(endpoint: Endpoint, sent: readonly string[], secure: boolean): string {
    const value = this.values.get(endpoint);
    if (value === undefined) return '';
    const others = sent.filter((other) => !this.byValue.has(other));
    const values = [value, ...others].slice(0, MAX_VALUES).join(SEPARATOR);
    return `Set-Cookie: ${this.name}=${values}; Path=/; HttpOnly; ${secure ? 'Secure; SameSite=None' : 'SameSite=Lax'}\r\n`;
  }
}

const valuesOf = (cookie: string | null): readonly string[] => (cookie !== null && WHOLE.test(cookie) ? cookie.split(SEPARATOR) : NONE);
