import { writeFileSync } from 'node:fs';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { Folder } from '../../testing/dataplane.ts';
import { type Contender, HOST, type Task, type TlsFiles } from '../contenders/contender.ts';
import { installedProxies, type PeerName } from '../contenders/peers.ts';
import { sluice } from '../contenders/sluice.ts';
import type { Competitor } from './rounds.ts';

export type ContestSetup = {
  readonly cores: readonly number[];
  /** The port of the upstream on 127.0.0.1. */
  readonly upstream: number;
  readonly secure?: boolean;
  /** All that are installed, by default. */
  readonly peers?: readonly PeerName[];
  readonly ours?: (task: Task) => Promise<Contender>;
};

/** Starts ours, and then the others that are installed, does some work with all of them, and stops them. */
export async function withCompetitors<T>(setup: ContestSetup, work: (competitors: readonly Competitor[]) => Promise<T>): Promise<T> {
  const { cores, upstream, secure = false, peers, ours = sluice } = setup;
  using folder = new Folder();
  const task: Task = { folder, cores, upstream, tls: secure ? pair(folder) : null };
  const competitors: Competitor[] = [];
  try {
    competitors.push({ proxy: await ours(task), version: null, cores });
    for (const { start, version } of installedProxies(peers)) competitors.push({ proxy: await start(task), version, cores });
    return await work(competitors);
  } finally {
    await Promise.all(competitors.map(({ proxy }) => proxy.stop()));
  }
}

/** ECDSA with P-256, like the certificates that authorities issue by default. */
function pair(folder: Folder): TlsFiles {
  const authority = new CertificatesFixture();
  const { cert, key } = authority.issue(HOST, '127.0.0.1');
  const files = { certificate: folder.file('cert.pem'), privateKey: folder.file('key.pem') };
  writeFileSync(files.certificate, cert);
  writeFileSync(files.privateKey, key);
  return files;
}
