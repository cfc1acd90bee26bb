import { fakeId } from '../../controller/sources/docker/testing/fake-container.ts';
import { FakeEngine } from '../../controller/sources/docker/testing/fake-engine.ts';
import type { ControllerReport } from '../../controller/status/report.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from './dataplane.ts';
import { ask, visit } from './http.ts';
import { freePort } from './ports.ts';
import { Program, run, SLUICE } from './process.ts';

/** The pair with a fake container engine, whose containers are servers of the test on loopback ports. */
export async function startPairWithEngine() {
  const folder = new Folder();
  const engine = new FakeEngine();
  await engine.listen(folder.file('engine.sock'));
  const [http, admin, status] = [await freePort(), await freePort(), await freePort()];
  const ports = ['--http-port', `${http}`, '--admin-listen', `127.0.0.1:${admin}`, '--listen', `127.0.0.1:${status}`];
  const args = [
    'run',
    '--docker',
    folder.file('engine.sock'),
    '--bind',
    '127.0.0.1',
    '--workers',
    '2',
    '--state-dir',
    folder.file('state'),
  ];
  const program = new Program(SLUICE, [...args, ...ports]);
  const socket = folder.file('state/admin.sock');
  await until('the pair to be ready', async () => (await ask({ port: status }, '/ready')).status === 200);
  return {
    engine,
    /** Of the parent. */
    pid: program.pid,
    [Symbol.asyncDispose]: async () => {
      await program[Symbol.asyncDispose]();
      await engine.stop();
      folder[Symbol.dispose]();
    },
    restart: () => engine.listen(folder.file('engine.sock')),
    answers: (host: string, expected: number) =>
      until(`${host} to answer ${expected}`, async () => (await visit(http, host)).status === expected),
    report: async () => JSON.parse((await ask({ socketPath: folder.file('state/controller.sock') }, '/status')).text) as ControllerReport,
    /** GET from the Admin API, without a token. */
    admin: async (path: string) => (await ask({ socketPath: socket }, path)).text,
    command: async (...words: string[]) => (await run([...words, '--admin', `unix:${socket}`])).stdout,
  };
}

export type PairWithEngine = Awaited<ReturnType<typeof startPairWithEngine>>;

/** A container on loopback, where a server of the test listens. */
export const app = (number: number, port: number, labels: Record<string, string>) => ({
  id: fakeId(number),
  name: `app-${number}`,
  address: '127.0.0.1',
  port,
  labels,
});
