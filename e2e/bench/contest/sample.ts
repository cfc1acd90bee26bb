import type { Contender } from '../contenders/contender.ts';
import type { Latency, Measured } from '../load/load.ts';
import { cpuOf } from '../processes.ts';
import { coreTime } from './core-time.ts';
import { LOAD_CORE } from './placement.ts';

/** One proxy under load for a few seconds. */
export type LoadSample = {
  readonly perSecond: number;
  /** Processor time of the proxy's processes per request, in seconds. */
  readonly user: number;
  readonly kernel: number;
  readonly latency: Latency | null;
  /** The shares of the time of the proxy's cores that something else used, and that nothing used (0 to 1). */
  readonly foreign: number;
  readonly unused: number;
  /** The share of the time of the load's core that nothing used. */
  readonly loadUnused: number;
};

/** Measures a proxy on its cores during a load of the given duration (s). */
export async function sampled(
  proxy: Contender,
  cores: readonly number[],
  seconds: number,
  load: () => Promise<Measured>,
): Promise<LoadSample> {
  const pids = proxy.pids();
  const [cpu, core, loadCore, begun] = [cpuOf(pids), coreTime(cores), coreTime([LOAD_CORE]), performance.now()];
  const { perSecond, requests, latency, onProxyCore = 0 } = await load();
  const [cpuThen, coreThen, loadCoreThen] = [cpuOf(pids), coreTime(cores), coreTime([LOAD_CORE])];
  // The load's program takes some time to start and to end, in which it sends nothing.
  const around = Math.max(0, (performance.now() - begun) / 1_000 - seconds);
  const [user, kernel] = [cpuThen.user - cpu.user, cpuThen.kernel - cpu.kernel];
  const available = seconds * cores.length;
  const share = (time: number): number => Math.min(1, Math.max(0, time / available));
  return {
    perSecond,
    user: user / requests,
    kernel: kernel / requests,
    latency,
    foreign: share(coreThen.busy - core.busy - user - kernel - onProxyCore),
    unused: share(coreThen.idle - core.idle - around * cores.length),
    loadUnused: Math.min(1, Math.max(0, (loadCoreThen.idle - loadCore.idle - around) / seconds)),
  };
}

/** Processor time of a sample per request, in seconds. */
export const costOf = ({ user, kernel }: Pick<LoadSample, 'user' | 'kernel'>): number => user + kernel;
