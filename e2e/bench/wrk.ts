import { Program } from '../harness/process.ts';

/** Requests a second of 64 keep-alive connections for some seconds, from one core. @throws when any answer was not 2xx. */
export async function requestsPerSecond(port: number, host: string, core: number, seconds: number): Promise<number> {
  const wrk = new Program('taskset', [
    '-c',
    `${core}`,
    'wrk',
    '-t1',
    '-c64',
    `-d${seconds}s`,
    '-H',
    `Host: ${host}`,
    `http://127.0.0.1:${port}/`,
  ]);
  await wrk.exited;
  if (/Non-2xx|Socket errors/.test(wrk.stdout)) throw new Error(`requests failed:\n${wrk.stdout}`);
  const match = /Requests\/sec:\s*([\d.]+)/.exec(wrk.stdout);
  if (match === null) throw new Error(`wrk did not measure:\n${wrk.output}`);
  return Number(match[1]);
}
