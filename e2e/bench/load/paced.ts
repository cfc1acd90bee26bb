import { readFileSync, writeFileSync } from 'node:fs';
import { Folder } from '../../testing/dataplane.ts';
import { Program } from '../../testing/process.ts';
import { HOST, onCores } from '../contenders/contender.ts';
import { LOAD_CORE, PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { readH2load } from './h2load.ts';
import type { Latency, LoadOptions, Measured } from './load.ts';
import { isDelayed, type Stall, stallsOf } from './stalls.ts';

/** Connections are opened at the beginning, and a TLS handshake takes as long as many requests. This is left out. */
const OPENING_SECONDS = 0.5;

/**
 * Sends a fixed number of requests per second over 64 connections with HTTP/1.1, by default, whether or not the proxy keeps up, and
 * measures how long each takes. @throws if any response was not 2xx.
 */
export async function paced(port: number, load: LoadOptions): Promise<Measured> {
  const { core, seconds, connections = 64, path = '/', secure = false, perSecond = 1_000 } = load;
  using folder = new Folder();
  const log = folder.file('requests.tsv');
  writeFileSync(log, '');
  const watching = Promise.all([...new Set([PROXY_CORE, LOAD_CORE, UPSTREAM_CORE])].map((each) => stallsOf(each, seconds)));
  const pace = ['-c', `${connections}`, '-m', '1', '-D', `${seconds}`, `--rps=${perSecond / connections}`, `--log-file=${log}`];
  const target = [`--connect-to=127.0.0.1:${port}`, `http${secure ? 's' : ''}://${HOST}:${port}${path}`];
  const program = new Program(...onCores([core], 'h2load', '--h1', ...pace, ...target));
  await program.exited;
  const [proxyCore = null, ...others] = await watching;
  const stalls = [proxyCore, ...others].includes(null) ? null : [proxyCore, ...others].flatMap((watched) => watched?.stalls ?? []);
  return { ...readH2load(program.output), latency: latencyOf(readFileSync(log, 'utf8'), stalls), onProxyCore: proxyCore?.cpu ?? 0 };
}

/**
 * How long the requests of a log of h2load took: lines with the start in microseconds since the epoch, the status, and the duration in
 * microseconds. Those that the machine delayed don't count. @throws if there are none.
 */
export function latencyOf(log: string, stalls: readonly Stall[] | null): Latency {
  const requests = log
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t').map((value) => Number(value) / 1_000))
    .map(([from = Number.NaN, , duration = Number.NaN]) => ({ from, duration }));
  const begin = Math.min(...requests.slice(0, 1_000).map(({ from }) => from)) + OPENING_SECONDS * 1_000;
  const settled = requests.filter(({ from }) => from >= begin);
  const durations = settled
    .filter(({ from, duration }) => !isDelayed(stalls ?? [], from, from + duration))
    .map(({ duration }) => duration)
    .sort((one, other) => one - other);
  const percentile = (share: number): number => {
    const duration = durations[Math.floor(durations.length * share)];
    if (duration === undefined) throw new Error('the machine delayed all requests');
    return duration;
  };
  return { p50: percentile(0.5), p99: percentile(0.99), delayed: stalls === null ? null : 1 - durations.length / settled.length };
}
