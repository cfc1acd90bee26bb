import { request as overTls } from 'node:https';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Folder } from '../../testing/dataplane.ts';
import { ask } from '../../testing/http.ts';
import type { Program } from '../../testing/process.ts';
import { familyOf } from '../processes.ts';

/** The host that every proxy under measurement routes to the upstream. */
export const HOST = 'bench.test';

/** Paths of PEM files with a certificate for HOST and for 127.0.0.1, the name in wrk's ClientHello. */
export type TlsFiles = { readonly certificate: string; readonly privateKey: string };

/** The task of a proxy: forward HOST to an upstream, over TLS if it gets a certificate. */
export type Task = {
  /** For its files. */
  readonly folder: Folder;
  /** The cores on which its processes may run. */
  readonly cores: readonly number[];
  /** Ours only; one per core by default. */
  readonly workers?: number;
  /** The port of the upstream on 127.0.0.1. */
  readonly upstream: number;
  readonly tls: TlsFiles | null;
};

/** A proxy under measurement. */
export type Contender = {
  readonly name: string;
  readonly port: number;
  /** Its processes: the children of the started one, or the started one itself. */
  pids(): number[];
  stop(): Promise<unknown>;
};

/** The command that runs a program on some cores. */
export const onCores = (cores: readonly number[], ...command: readonly string[]): [string, string[]] => [
  'taskset',
  ['-c', cores.join(), ...command],
];

/** A proxy with a single program, once it responds. */
export async function started(name: string, program: Program, port: number, tls: TlsFiles | null = null): Promise<Contender> {
  await until(name, async () => {
    if (program.exit !== null) throw new Error(`${name} ended: ${program.output}`);
    return tls === null ? (await ask({ port }, '/', { headers: { host: HOST } })).status === 200 : answersOverTls(port);
  }).catch(async (error: unknown) => {
    await program[Symbol.asyncDispose]();
    throw error;
  });
  return { name, port, pids: () => familyOf(program.pid), stop: () => program.kill('SIGTERM') };
}

function answersOverTls(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, servername: HOST, headers: { host: HOST }, rejectUnauthorized: false, agent: false };
    const request = overTls(options, (answer) => resolve(answer.resume().statusCode === 200));
    request.on('error', reject).end();
  });
}
