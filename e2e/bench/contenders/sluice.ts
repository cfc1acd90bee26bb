import { writeFileSync } from 'node:fs';
import { freePort } from '../../testing/ports.ts';
import { Program, SLUICE } from '../../testing/process.ts';
import { type Contender, HOST, onCores, started, type Task } from './contender.ts';

/** `sluice run` as installed, with one worker per core. */
export const sluice = (task: Task): Promise<Contender> => start(task, '', '');

/** The same, answering from its cache. */
export const cachingSluice = (task: Task): Promise<Contender> => start(task, 'cache 64mb', 'cache 1h');

/** The same, with limits for as many connections from one address as the benchmark opens. */
export const roomySluice = (task: Task): Promise<Contender> =>
  start(task, 'max_connections 20000\n  max_connections_per_address 20000', '');

async function start(
  { folder, cores, workers = cores.length, upstream, tls }: Task,
  globals: string,
  directives: string,
): Promise<Contender> {
  const [port, httpsPort] = [await freePort(), await freePort()];
  const config = folder.file('Sluicefile');
  writeFileSync(
    config,
    `{
  http_port ${port}
  https_port ${httpsPort}
  bind 127.0.0.1
  ${globals}
}
${HOST}, 127.0.0.1 {
  reverse_proxy 127.0.0.1:${upstream}
  ${tls === null ? '' : `tls ${tls.certificate} ${tls.privateKey}`}
  ${directives}
}
`,
  );
  return started('sluice', await run(config, folder.file('state'), cores, workers), tls === null ? port : httpsPort, tls);
}

/** Starts both processes under their parent, on some cores. */
export async function run(config: string, stateDir: string, cores: readonly number[], workers: number): Promise<Program> {
  const own = ['--admin-listen', `127.0.0.1:${await freePort()}`, '--listen', `127.0.0.1:${await freePort()}`];
  // Certificates in the default directory would change how the sites are served.
  const certificates = `${stateDir}-certificates`;
  const flags = ['--config', config, '--state-dir', stateDir, '--cert-dir', certificates, '--workers', `${workers}`, ...own];
  return new Program(...onCores(cores, SLUICE, 'run', ...flags));
}
