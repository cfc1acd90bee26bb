import { readdirSync, readFileSync } from 'node:fs';
import { request as overTls } from 'node:https';
import { ask } from '../../harness/http.ts';
import type { Program } from '../../harness/process.ts';
import { until } from '../../harness/until.ts';

/** The host that every proxy under measurement routes to the upstream. */
export const HOST = 'bench.test';

/** Paths of PEM files with a certificate for HOST and for 127.0.0.1, the name in wrk's ClientHello. */
export type Secure = { readonly certificate: string; readonly privateKey: string };

/** A proxy under measurement. */
export type Contender = {
  readonly name: string;
  readonly port: number;
  /** Its processes: the children of the started one, or the started one itself. */
  pids(): number[];
  stop(): Promise<unknown>;
};

/** A proxy with a single program, once it responds. */
export async function started(name: string, program: Program, port: number, secure: Secure | null = null): Promise<Contender> {
  await until(
    name,
    async () => {
      if (program.exit !== null) throw new Error(`${name} ended: ${program.output}`);
      return secure === null ? (await ask({ port }, '/', { headers: { host: HOST } })).status === 200 : answersOverTls(port);
    },
    20_000,
  );
  return { name, port, pids: () => familyOf(program.pid), stop: () => program.kill('SIGTERM') };
}

function answersOverTls(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: HOST, headers: { host: HOST }, rejectUnauthorized: false, agent: false };
    const request = overTls(options, (answer) => resolve(answer.resume().statusCode === 200));
    request.on('error', reject).end();
  });
}

/** A process and its descendants. */
function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(familyOf)];
}

export type Cpu = { readonly user: number; readonly kernel: number };

/** Kernel ticks per second in which Linux reports CPU time to user space. */
const TICKS = 100;

/** Total CPU time of some processes in seconds (proc_pid_stat(5): fields 14 and 15). */
export function cpuOf(pids: readonly number[]): Cpu {
  let user = 0;
  let kernel = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    user += Number(fields[11]) / TICKS;
    kernel += Number(fields[12]) / TICKS;
  }
  return { user, kernel };
}

/** Resident memory of some processes in bytes. */
export function residentOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return sum + Number(match?.[1] ?? 0) * 1_024;
  }, 0);
}
