import { readFileSync } from 'node:fs';
import { Dataplane, type Folder } from '../../harness/dataplane.ts';
import { freePort } from '../../harness/ports.ts';
import { until } from '../../harness/until.ts';
import { type Contender, HOST, type Secure, started } from './contender.ts';

/** A data plane with one worker on one core. */
export async function sluice(
  folder: Folder,
  core: number,
  upstream: number,
  secure: Secure | null,
): Promise<Contender & { readonly dataplane: Dataplane }> {
  const httpsPort = await freePort();
  const flags = secure === null ? [] : ['--https-port', `${httpsPort}`, '--cert-dir', folder.file('certs')];
  const dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 1, flags, command: ['taskset', '-c', `${core}`] });
  await dataplane.route(HOST, `127.0.0.1:${upstream}`);
  if (secure !== null) await push(dataplane, secure);
  const port = secure === null ? dataplane.httpPort : httpsPort;
  return { ...(await started('sluice', dataplane.program, port, secure)), dataplane };
}

/** The same, once it answers from its cache. */
export async function cachingSluice(folder: Folder, core: number, upstream: number): Promise<Contender> {
  const flags = ['--cache-size', '64mb'];
  const dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 1, flags, command: ['taskset', '-c', `${core}`] });
  await dataplane.route(HOST, `127.0.0.1:${upstream}`, { cache: { ttls: [{ secs: 3_600, statuses: [200] }] } });
  await until('a hit', async () => /; hit/.test(String((await dataplane.visit(HOST)).headers['cache-status'])) || null);
  return started('sluice', dataplane.program, dataplane.httpPort);
}

async function push(dataplane: Dataplane, secure: Secure): Promise<void> {
  const [certificate, private_key] = [readFileSync(secure.certificate, 'utf8'), readFileSync(secure.privateKey, 'utf8')];
  const { status, text } = await dataplane.admin('POST', '/certificates', { domains: [HOST, '127.0.0.1'], certificate, private_key });
  if (status !== 201) throw new Error(`POST /certificates: ${status} ${text}`);
}
