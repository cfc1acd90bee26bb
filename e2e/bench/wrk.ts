import { Program } from '../harness/process.ts';
import { HOST } from './contenders/contender.ts';
import type { Load, Measured } from './load.ts';

/** Loads a port from one core with 64 keep-alive connections, by default. @throws if any response was not 2xx. */
export async function wrk(
  port: number,
  { core, seconds, connections = 64, path = '/', close = false, secure = false, fields = [] }: Load,
): Promise<Measured> {
  const args = ['-c', `${core}`, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-H', `Host: ${HOST}`];
  for (const field of fields) args.push('-H', field);
  if (close) args.push('-H', 'Connection: close');
  const program = new Program('taskset', [...args, `http${secure ? 's' : ''}://127.0.0.1:${port}${path}`]);
  await program.exited;
  // wrk reports requests over 2 s as timeouts, but a slow response is not a failed one.
  if (/Non-2xx|Socket errors: (?!connect 0, read 0, write 0)/.test(program.stdout)) throw new Error(`requests failed:\n${program.stdout}`);
  const rate = /Requests\/sec:\s*([\d.]+)/.exec(program.stdout);
  const total = /(\d+) requests in/.exec(program.stdout);
  if (rate === null || total === null) throw new Error(`wrk did not measure:\n${program.output}`);
  return { perSecond: Number(rate[1]), requests: Number(total[1]) };
}
