import { Program } from '../../testing/process.ts';
import { HOST } from '../contenders/contender.ts';
import type { LoadOptions, Measured } from './load.ts';

/** Loads a port from one core with 64 keep-alive connections, by default. @throws if any response was not 2xx. */
export async function wrk(port: number, load: LoadOptions): Promise<Measured> {
  const { core, seconds, connections = 64, path = '/', close = false, secure = false, fields = [] } = load;
  const args = ['-c', `${core}`, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-H', `Host: ${HOST}`];
  for (const field of fields) args.push('-H', field);
  if (close) args.push('-H', 'Connection: close');
  const program = new Program('taskset', [...args, `http${secure ? 's' : ''}://127.0.0.1:${port}${path}`]);
  await program.exited;
  return readWrk(program.output);
}

/** Reads the output of wrk. @throws if requests failed. */
export function readWrk(output: string): Measured {
  // wrk reports requests over 2 s as timeouts, but a slow response is not a failed one.
  if (/Non-2xx|Socket errors: (?!connect 0, read 0, write 0)/.test(output)) throw new Error(`requests failed:\n${output}`);
  const rate = /Requests\/sec:\s*([\d.]+)/.exec(output);
  const total = /(\d+) requests in/.exec(output);
  if (rate === null || total === null) throw new Error(`wrk did not measure:\n${output}`);
  const [p50, p99] = [timeOf(output, '50'), timeOf(output, '99')];
  return {
    perSecond: Number(rate[1]),
    requests: Number(total[1]),
    latency: p50 === null || p99 === null ? null : { p50, p99, delayed: null },
  };
}

const MILLISECONDS = { us: 1e-3, ms: 1, s: 1e3, m: 6e4 } as const;

function timeOf(output: string, percentile: string): number | null {
  const [, time, unit] = new RegExp(`^\\s*${percentile}%\\s+([\\d.]+)(us|ms|s|m)$`, 'm').exec(output) ?? [];
  return time === undefined ? null : Number(time) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
}
