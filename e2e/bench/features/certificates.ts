import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { CertificateGenerator, type GeneratedPair } from '../../../dataplane/tls/internal/certificate-generator.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../../testing/dataplane.ts';
import { freePort } from '../../testing/ports.ts';
import { atMost, type Figure } from '../figure.ts';
import { residentOf } from '../processes.ts';
import { settled } from '../settled.ts';

const CERTIFICATES = 10_000;
const SERVED = 1_000;
/** Handshakes per certificate: the system chooses the worker, and each worker should have served nearly all of them. */
const EACH = 4;
const IDLE = 2_000;

/** A data plane with two workers and many certificates: time until ready, memory, and the cost of an idle connection. */
export async function certificates(): Promise<Figure[]> {
  using folder = new Folder();
  const root = await fill(folder.file('certs'));
  const httpsPort = await freePort();
  const flags = ['--https-port', `${httpsPort}`, '--cert-dir', folder.file('certs')];
  const begun = performance.now();
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 2, flags });
  const shake = (index: number): Promise<TLSSocket> => handshake(httpsPort, nameOf(index), root);
  (await until('the last certificate to be shown', () => shake(CERTIFICATES - 1))).destroy();
  const ready = performance.now() - begun;

  for (let index = 0; index < SERVED; index++) for (let time = 0; time < EACH; time++) (await shake(index)).destroy();
  const resident = () => settled(() => residentOf([dataplane.program.pid]));
  const held = await resident();

  const open: TLSSocket[] = [];
  for (let index = 0; index < IDLE; index++) open.push(await shake(0));
  const idle = (await resident()) - held;
  for (const socket of open) socket.destroy();
  return [
    atMost(`ready with ${CERTIFICATES} certificates`, ready / 1_000, 's', 3),
    atMost(`resident memory, two workers, ${SERVED} of them served`, held / 1_048_576, 'MiB', 300),
    atMost(`each of ${IDLE} idle TLS connections`, idle / IDLE / 1_024, 'KiB', 40),
  ];
}

const nameOf = (index: number): string => `site-${index}.example.com`;

/** Fills a certificate directory. @returns the root of all of them, in PEM. */
async function fill(path: string): Promise<string> {
  const maker = await CertificateGenerator.load(systemRandom);
  const time = { notBefore: Date.now() - 3_600_000, notAfter: Date.now() + 90 * 86_400_000 };
  const root: GeneratedPair = await maker.root('bench', time);
  mkdirSync(path, { mode: 0o700 });
  for (let index = 0; index < CERTIFICATES; index++) {
    const { certificate, privateKey } = await maker.leaf(nameOf(index), time, root);
    const into = join(path, nameOf(index));
    mkdirSync(into);
    writeFileSync(join(into, 'cert.pem'), certificate);
    writeFileSync(join(into, 'key.pem'), privateKey, { mode: 0o600 });
  }
  return root.certificate;
}

async function handshake(port: number, servername: string, ca: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername, ca });
  await once(socket, 'secureConnect');
  return socket;
}
