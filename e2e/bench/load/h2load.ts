import { Program } from '../../testing/process.ts';
import { HOST } from '../contenders/contender.ts';
import type { LoadOptions, Measured } from './load.ts';

/**
 * Loads a port over HTTP/2 from one core, with 16 connections of 10 concurrent requests by default. @throws if any response was not 2xx.
 */
export async function h2load(port: number, { core, seconds, connections = 16, streams = 10, path = '/' }: LoadOptions): Promise<Measured> {
  const load = ['-c', `${connections}`, '-m', `${streams}`, '-D', `${seconds}`, `--connect-to=127.0.0.1:${port}`];
  const program = new Program('taskset', ['-c', `${core}`, 'h2load', ...load, `https://${HOST}:${port}${path}`]);
  await program.exited;
  return readH2load(program.output);
}

/** Reads the output of h2load. @throws if requests failed. */
export function readH2load(output: string): Measured {
  const rate = /finished in [\d.]+m?s, ([\d.]+) req\/s/.exec(output);
  const total = /requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored/.exec(output);
  if (rate === null || total === null) throw new Error(`h2load did not measure:\n${output}`);
  if (total[2] !== '0' || total[3] !== '0') throw new Error(`requests failed:\n${output}`);
  return { perSecond: Number(rate[1]), requests: Number(total[1]), latency: null };
}
