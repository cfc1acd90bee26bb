import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { DirectoryStore } from '../../../dataplane/tls/store/directory-store.ts';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { Folder } from '../../testing/dataplane.ts';
import { atMost, type Figure } from '../figure.ts';

const CERTIFICATES = 10_000;

/** The CPU time for a directory of many certificates: the first listing, another listing, and reading all of it. */
export async function certificateStore(): Promise<Figure[]> {
  using folder = new Folder();
  const { certificate, privateKey } = await makePair(['a.test']);
  const one = folder.file('one');
  mkdirSync(one);
  writeFileSync(`${one}/cert.pem`, certificate);
  writeFileSync(`${one}/key.pem`, privateKey);
  const root = folder.file('certs');
  mkdirSync(`${root}/acme`, { recursive: true });
  // Creating that many folders would take longer than reading them.
  for (let number = 0; number < CERTIFICATES; number++) symlinkSync('../../one', `${root}/acme/n${number}.test`);
  const store = new DirectoryStore(root, { clock: systemClock, random: systemRandom, log: memoryLog() });
  const list = () => store.list();
  const read = async () => {
    for (let number = 0; number < CERTIFICATES; number++) await store.get(`acme/n${number}.test`);
  };
  try {
    return [
      atMost('10,000 certificates listed', await processorTime(list), 'ms', 3_000),
      atMost('the same listed again', await processorTime(list), 'ms', 1_000),
      atMost('the same read', await processorTime(read), 'ms', 1_500),
    ];
  } finally {
    await store.close();
  }
}

/** In milliseconds. */
async function processorTime(work: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
