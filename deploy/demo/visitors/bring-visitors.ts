import { Agent, request } from 'node:http';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import { type VisitorRequest, visits } from './visits.ts';

export type VisitorOptions = {
  /** The proxy's HTTP port on this machine. */
  readonly port: number;
  readonly seed: number;
  readonly clock: Clock;
  /** Ends everything at once. */
  readonly signal: AbortSignal;
  /** Milliseconds from one visit to the next. */
  readonly pace?: number;
  readonly maxRequests?: number;
};

/** From one visit to the next (ms). A visit has about six requests: four a second. */
const PACE_MS = 1_500;
/** The first visits come faster, so that there is something to see when the address is opened. */
const OPENING_VISITS = 15;
const OPENING_PACE_MS = 100;
/** A demo that is forgotten stops after this many requests, about seven hours. */
const MAX_REQUESTS = 100_000;
/** The maximum number of visits at a time, which is only reached if the proxy is slow. */
const MAX_VISITS = 40;
const TIMEOUT_MS = 10_000;

/** Sends the requests of visitors through the proxy until `signal` ends it, or after a bounded number. */
export async function bringVisitors({
  port,
  seed,
  clock,
  signal,
  pace = PACE_MS,
  maxRequests = MAX_REQUESTS,
}: VisitorOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const underWay = new Set<Promise<void>>();
  let left = maxRequests;
  let started = 0;
  for (const visit of visits(seed, port)) {
    if (signal.aborted || left <= 0) break;
    const requests = visit.slice(0, left);
    left -= requests.length;
    const done = play(requests, { port, agent, clock, signal }).finally(() => underWay.delete(done));
    underWay.add(done);
    started += 1;
    await sleep(clock, started < OPENING_VISITS ? OPENING_PACE_MS : pace, signal);
    if (underWay.size >= MAX_VISITS) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  agent.destroy();
}

type Connection = { readonly port: number; readonly agent: Agent; readonly clock: Clock; readonly signal: AbortSignal };

async function play(requests: readonly VisitorRequest[], connection: Connection): Promise<void> {
  for (const one of requests) {
    await sleep(connection.clock, one.after, connection.signal);
    if (connection.signal.aborted) return;
    await send(one, connection);
  }
}

/** Ignores failures, which happen while the demo's file is edited or the demo ends: the dashboard shows them. */
function send({ method, host, path, headers, body }: VisitorRequest, { port, agent, signal }: Connection): Promise<void> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, method, path, headers: { ...headers, host: `${host}:${port}` }, agent, signal };
    const sent = request({ ...options, timeout: TIMEOUT_MS }, (response) => {
      response.resume();
      response.once('close', resolve);
    });
    sent.once('timeout', () => sent.destroy());
    sent.once('error', () => resolve());
    sent.end(body);
  });
}
