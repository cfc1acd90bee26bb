import type { Log } from '../../../shared/runtime/log.ts';
import { FAILURES_TO_EJECT } from '../../ledger/targets.ts';
import { fieldIn } from '../codec/http1/fields.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type Failure, foundNobody } from '../exchange/failure.ts';
import { FAULT_REASON } from '../exchange/faults.ts';
import { rawPath } from '../match/path.ts';
import { ANSWERED_BY_SITE } from '../respond/fixed.ts';

/** How often those are counted that had no line of their own (ms). */
const SUMMARY_MS = 60_000;
/** Lines that one target may have in that time for failures of single requests; where nobody is there at all, one says it. */
const MOST_LINES = 5;
/** A target has recovered when it answers and has failed nobody for this long (ms). */
const RECOVERED_MS = 5_000;
/** What has neither failed nor answered for this long is no longer waited for (ms). */
const FORGET_MS = 600_000;
/** Targets and sites whose failures are told apart. */
const MOST_TOLD_APART = 1_000;
const OTHERS = 'others';
/** Characters of a path and of what else a client chooses. */
const MOST_TEXT = 256;
/** Of a connection that goes on with another protocol. */
const UPGRADED = 101;
/** An answer that took longer is slow (ms). */
const SLOW_MS = 5_000;

/** What fails in a row: a target, or a site that has none. */
type Trouble = {
  /** The target, or the domain of a route. */
  readonly subject: 'target' | 'site';
  /** Milliseconds on the monotonic clock. */
  readonly since: number;
  last: number;
  toldAt: number;
  /** Lines since then. */
  lines: number;
  total: number;
  /** Failures without a line, by their code. */
  untold: Map<string, number>;
  readonly codes: Set<string>;
  answered: boolean;
};

/**
 * What the log says about requests. One that the proxy itself ends with 5xx, or whose answer breaks off, has a line
 * with all that is needed to find it again; a target that fails one request after the other has one line for each
 * way in which it does, one a minute that counts the rest, and one when it is back. At the level `debug` so have answers of
 * 5xx that come from upstreams, slow ones, and requests for hosts that are not routed.
 */
export class RequestLog {
  private readonly log: Log;
  private readonly debug: boolean;
  private readonly troubles = new Map<string, Trouble>();

  /** `debug` is whether lines of that level are wanted at all. */
  constructor(log: Log, debug: boolean) {
    this.log = log;
    this.debug = debug;
  }

  /** An exchange is over. `now` in milliseconds on the monotonic clock. */
  over(x: Exchange, now: number): void {
    const { lastFailure: failure } = x;
    // One that a retry made good, or whose client left meanwhile, is not what ended it.
    if (failure !== null && x.failure === failure.reason) return this.failed(x, failure, now);
    if (this.troubles.size > 0 && x.failure === '') this.answered(x);
    if (x.status >= 500 && isRefused(x)) return this.refused(x, now);
    if (this.debug) this.tellDetails(x, now);
  }

  /** Now and then: counts what had no line, and tells who is back. */
  tick(now: number): void {
    for (const [name, trouble] of this.troubles) {
      const quiet = now - trouble.last;
      const recovered = trouble.answered && quiet >= RECOVERED_MS;
      if (recovered || quiet >= FORGET_MS || now - trouble.toldAt >= SUMMARY_MS) this.summarize(name, trouble, now);
      if (!recovered && quiet < FORGET_MS) continue;
      this.troubles.delete(name);
      const about = { [trouble.subject]: name, failed: trouble.total, after_s: Math.round((trouble.last - trouble.since) / 1_000) };
      // One failure now and then is no state that a target comes back from.
      if (recovered && trouble.total >= FAILURES_TO_EJECT)
        this.log.info(about, trouble.subject === 'target' ? 'target answers again' : 'site has a target again');
    }
  }

  private failed(x: Exchange, failure: Failure, now: number): void {
    const name = this.nameOf(x);
    const trouble = this.troubles.get(name) ?? this.begin(name, x.endpoint === null ? 'site' : 'target', now);
    trouble.last = now;
    trouble.total++;
    trouble.answered = false;
    const { code } = failure;
    const first = !trouble.codes.has(code);
    trouble.codes.add(code);
    if (first || (!foundNobody(failure) && trouble.lines < MOST_LINES)) {
      trouble.lines++;
      this.log.warn({ ...factsOf(x, now), failure: code }, failure.reason);
    } else trouble.untold.set(code, (trouble.untold.get(code) ?? 0) + 1);
  }

  /** An answer of our own that has nothing to do with an upstream. */
  private refused(x: Exchange, now: number): void {
    const name = x.route?.domain ?? OTHERS;
    const trouble = this.troubles.get(name) ?? this.begin(name, 'site', now);
    trouble.last = now;
    trouble.total++;
    if (trouble.lines < MOST_LINES) {
      trouble.lines++;
      this.log.warn(factsOf(x, now), x.failure);
    } else trouble.untold.set('refused by the proxy', (trouble.untold.get('refused by the proxy') ?? 0) + 1);
  }

  private nameOf({ endpoint, route }: Exchange): string {
    const name = endpoint?.address ?? route?.domain ?? OTHERS;
    return this.troubles.has(name) || this.troubles.size < MOST_TOLD_APART ? name : OTHERS;
  }

  private begin(name: string, subject: Trouble['subject'], now: number): Trouble {
    const untold = new Map<string, number>();
    const codes = new Set<string>();
    const trouble = { subject, since: now, last: now, toldAt: now, lines: 0, total: 0, untold, codes, answered: false };
    this.troubles.set(name, trouble);
    return trouble;
  }

  private answered({ endpoint, route }: Exchange): void {
    const target = endpoint === null ? undefined : this.troubles.get(endpoint.address);
    const site = route === null ? undefined : this.troubles.get(route.domain);
    if (target !== undefined) target.answered = true;
    if (site !== undefined) site.answered = true;
  }

  private summarize(name: string, trouble: Trouble, now: number): void {
    const seconds = Math.round((now - trouble.toldAt) / 1_000);
    trouble.toldAt = now;
    trouble.lines = 0;
    if (trouble.untold.size === 0) return;
    const count = [...trouble.untold.values()].reduce((sum, one) => sum + one, 0);
    const about = { [trouble.subject]: name, count, within_s: seconds, failures: Object.fromEntries(trouble.untold) };
    trouble.untold = new Map();
    this.log.warn(about, 'more requests failed');
  }

  private tellDetails(x: Exchange, now: number): void {
    if (x.route === null) this.log.debug(factsOf(x, now), x.failure === '' ? 'a request for no route' : x.failure);
    else if (x.status >= 500 && x.endpoint !== null) this.log.debug(factsOf(x, now), 'the upstream answered with an error');
    else if (now - x.startedAt >= SLOW_MS && x.status !== UPGRADED) this.log.debug(factsOf(x, now), 'a slow answer');
  }

  /** What is left to tell when the worker goes. */
  end(now: number): void {
    for (const [name, trouble] of this.troubles) this.summarize(name, trouble, now);
  }
}

/** Whether a 5xx is our own, without a target in it, and no wish of the site; what was thrown is logged where it was. */
const isRefused = ({ endpoint, failure }: Exchange): boolean =>
  endpoint === null && failure !== '' && failure !== FAULT_REASON && failure !== ANSWERED_BY_SITE;

/** What it takes to find a request again. Never the query: it may hold secrets. */
function factsOf(x: Exchange, now: number): object {
  const { endpoint } = x;
  return {
    host: x.host.slice(0, MOST_TEXT),
    method: x.method.slice(0, MOST_TEXT),
    path: rawPath(x.target).slice(0, MOST_TEXT),
    client: x.client.address,
    request_id: (fieldIn(x.forwarding, 'x-request-id') ?? '').slice(0, MOST_TEXT),
    status: x.status,
    ...(endpoint !== null && { target: endpoint.address }),
    duration_ms: Math.round(now - x.startedAt),
  };
}
