import { existsSync, readFileSync } from 'node:fs';

/** Which core runs what. */
export type Placement = {
  /** The core of the proxies under measurement, which are loaded one at a time. */
  readonly proxy: number;
  /** A second core for a proxy with two workers; null if that would take one from the load. */
  readonly second: number | null;
  readonly load: number;
  /** The same as `load` if there are only two cores. */
  readonly upstream: number;
};

/**
 * Distributes the roles over the cores that this process may use. Two threads of one physical core would slow each other
 * down, so the proxy's other threads are used last. @throws if there is only one core.
 */
export function place(allowed: readonly number[], siblingsOf: (core: number) => readonly number[]): Placement {
  const [proxy, ...others] = allowed;
  if (proxy === undefined || others.length === 0) throw new Error('the benchmarks need two cores: one for the proxy, and one for the load');
  const siblings = new Set(siblingsOf(proxy));
  const [load = proxy, ...rest] = [...others.filter((core) => !siblings.has(core)), ...others.filter((core) => siblings.has(core))];
  const [upstream = load, second = null] = rest;
  return { proxy, load, upstream, second };
}

/** Reasons why the figures of this machine are less exact, as sentences. */
export function hindrances({ proxy, load }: Placement): string[] {
  const found: string[] = [];
  if (siblingsOf(proxy).includes(load))
    found.push(`The cores ${proxy} and ${load} are two threads of one physical core, so the load slows the proxy down.`);
  const governor = `/sys/devices/system/cpu/cpu${proxy}/cpufreq/scaling_governor`;
  const policy = existsSync(governor) ? readFileSync(governor, 'utf8').trim() : 'performance';
  if (policy !== 'performance') found.push(`The frequency of core ${proxy} is governed by "${policy}" instead of "performance".`);
  return found;
}

function siblingsOf(core: number): number[] {
  const path = `/sys/devices/system/cpu/cpu${core}/topology/thread_siblings_list`;
  return existsSync(path) ? listed(readFileSync(path, 'utf8')) : [core];
}

/** The numbers of a list like `0-2,5` (cpuset(7)). */
export function listed(list: string): number[] {
  return list
    .trim()
    .split(',')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, at) => first + at);
    });
}

const allowed = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'));

export const PLACEMENT = place(listed(allowed?.[1] ?? '0'), siblingsOf);
export const PROXY_CORE = PLACEMENT.proxy;
export const LOAD_CORE = PLACEMENT.load;
export const UPSTREAM_CORE = PLACEMENT.upstream;
