import type { Log } from '../../../shared/runtime/log/log.ts';
import { FAILURES_TO_EJECT } from '../../ledger/targets.ts';
import { fieldIn } from '../codec/http1/kept-lines.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type Failure, noTargetAvailable } from '../exchange/failure.ts';
import { FAULT_REASON } from '../exchange/faults.ts';
import { rawPath } from '../match/path.ts';
import { ANSWERED_BY_SITE } from '../respond/fixed.ts';

/** How often suppressed failures are summarised in one line (ms). */
const SUMMARY_MS = 60_000;
/**
 * The maximum number of lines per target in that time for failures of single requests; if the target can't be reached at all, one line is
 * enough.
 */
const MAX_LINES = 5;
/** A target has recovered when it answers and has not failed a request for this long (ms). */
const RECOVERED_MS = 5_000;
/** A target that has neither failed nor answered for this long is no longer tracked (ms). */
const FORGET_MS = 600_000;
/** The maximum number of targets and sites whose failures are tracked separately. */
const MAX_TRACKED = 1_000;
const OTHERS = 'others';
/** The maximum number of characters logged of a path and of other client input. */
const MAX_TEXT = 256;
/** The status of an upgraded connection. */
const UPGRADED = 101;
/** A response that took longer is slow (ms). */
const SLOW_MS = 5_000;

/** A series of failures of a target, or of a site that has none. */
type FailureSeries = {
  /** The target, or the domain of a route. */
  readonly subject: 'target' | 'site';
  /** Milliseconds on the monotonic clock. */
  readonly since: number;
  last: number;
  loggedAt: number;
  /** Lines logged since then. */
  lines: number;
  total: number;
  /** Failures that were not logged, by their code. */
  suppressed: Map<string, number>;
  readonly codes: Set<string>;
  answered: boolean;
};

/**
 * Logs requests. A request that the proxy itself answers with 5xx, or whose response is truncated, gets a line
 * with everything needed to identify it. A target that keeps failing gets one line for each
 * kind of failure, one a minute that counts the rest, and one when it has recovered. At level `debug` there are also lines for
 * 5xx responses from upstreams, slow responses, and requests for hosts that are not routed.
 */
export class RequestLog {
  private readonly log: Log;
  private readonly debug: boolean;
  private readonly troubles = new Map<string, FailureSeries>();

  /** `debug` is whether the log level includes `debug`. */
  constructor(log: Log, debug: boolean) {
    this.log = log;
    this.debug = debug;
  }

  /** An exchange is over. `now` in milliseconds on the monotonic clock. */
  ended(x: Exchange, now: number): void {
    const { lastFailure: failure } = x;
    // A failure that a retry recovered from, or whose client left meanwhile, did not end the exchange.
    if (failure !== null && x.failure === failure.reason) return this.failed(x, failure, now);
    if (this.troubles.size > 0 && x.failure === '') this.answered(x);
    if (x.status >= 500 && isRefused(x)) return this.refused(x, now);
    if (this.debug) this.logDetails(x, now);
  }

  /** Called periodically: summarises suppressed failures and logs recoveries. */
  tick(now: number): void {
    for (const [name, trouble] of this.troubles) {
      const quiet = now - trouble.last;
      const recovered = trouble.answered && quiet >= RECOVERED_MS;
      if (recovered || quiet >= FORGET_MS || now - trouble.loggedAt >= SUMMARY_MS) this.summarize(name, trouble, now);
      if (!recovered && quiet < FORGET_MS) continue;
      this.troubles.delete(name);
      const about = { [trouble.subject]: name, failed: trouble.total, after_s: Math.round((trouble.last - trouble.since) / 1_000) };
      // An occasional failure is not an outage that a target recovers from.
      if (recovered && trouble.total >= FAILURES_TO_EJECT)
        this.log.info(about, trouble.subject === 'target' ? 'target has recovered' : 'site has a target again');
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
    if (first || (!noTargetAvailable(failure) && trouble.lines < MAX_LINES)) {
      trouble.lines++;
      this.log.warn({ ...factsOf(x, now), failure: code }, failure.reason);
    } else trouble.suppressed.set(code, (trouble.suppressed.get(code) ?? 0) + 1);
  }

  /** A response by the proxy itself, without an upstream involved. */
  private refused(x: Exchange, now: number): void {
    const name = x.route?.domain ?? OTHERS;
    const trouble = this.troubles.get(name) ?? this.begin(name, 'site', now);
    trouble.last = now;
    trouble.total++;
    if (trouble.lines < MAX_LINES) {
      trouble.lines++;
      this.log.warn(factsOf(x, now), x.failure);
    } else trouble.suppressed.set('refused by the proxy', (trouble.suppressed.get('refused by the proxy') ?? 0) + 1);
  }

  private nameOf({ endpoint, route }: Exchange): string {
    const name = endpoint?.address ?? route?.domain ?? OTHERS;
    return this.troubles.has(name) || this.troubles.size < MAX_TRACKED ? name : OTHERS;
  }

  private begin(name: string, subject: FailureSeries['subject'], now: number): FailureSeries {
    const suppressed = new Map<string, number>();
    const codes = new Set<string>();
    const trouble = { subject, since: now, last: now, loggedAt: now, lines: 0, total: 0, suppressed, codes, answered: false };
    this.troubles.set(name, trouble);
    return trouble;
  }

  private answered({ endpoint, route }: Exchange): void {
    const target = endpoint === null ? undefined : this.troubles.get(endpoint.address);
    const site = route === null ? undefined : this.troubles.get(route.domain);
    if (target !== undefined) target.answered = true;
    if (site !== undefined) site.answered = true;
  }

  private summarize(name: string, trouble: FailureSeries, now: number): void {
    const seconds = Math.round((now - trouble.loggedAt) / 1_000);
    trouble.loggedAt = now;
    trouble.lines = 0;
    if (trouble.suppressed.size === 0) return;
    const count = [...trouble.suppressed.values()].reduce((sum, one) => sum + one, 0);
    const about = { [trouble.subject]: name, count, within_s: seconds, failures: Object.fromEntries(trouble.suppressed) };
    trouble.suppressed = new Map();
    this.log.warn(about, 'more requests failed');
  }

  private logDetails(x: Exchange, now: number): void {
    if (x.route === null) this.log.debug(factsOf(x, now), x.failure === '' ? 'a request without a route' : x.failure);
    else if (x.status >= 500 && x.endpoint !== null) this.log.debug(factsOf(x, now), 'the upstream returned an error');
    else if (now - x.startedAt >= SLOW_MS && x.status !== UPGRADED) this.log.debug(factsOf(x, now), 'slow response');
  }

  /** Logs the remaining counts when the worker shuts down. */
  end(now: number): void {
    for (const [name, trouble] of this.troubles) this.summarize(name, trouble, now);
  }
}

/**
 * Whether a 5xx is the proxy's own, without a target involved and not configured by the site. Exceptions are logged where they are caught.
 */
const isRefused = ({ endpoint, failure }: Exchange): boolean =>
  endpoint === null && failure !== '' && failure !== FAULT_REASON && failure !== ANSWERED_BY_SITE;

/** The fields that identify a request. Never the query, which may contain secrets. */
function factsOf(x: Exchange, now: number): object {
  const { endpoint } = x;
  return {
    host: x.host.slice(0, MAX_TEXT),
    method: x.method.slice(0, MAX_TEXT),
    path: rawPath(x.target).slice(0, MAX_TEXT),
    client: x.client.address,
    request_id: (fieldIn(x.forwarding, 'x-request-id') ?? '').slice(0, MAX_TEXT),
    ...(x.trace !== null && { trace_id: x.trace.id }),
    status: x.status,
    ...(endpoint !== null && { target: endpoint.address }),
    duration_ms: Math.round(now - x.startedAt),
  };
}
