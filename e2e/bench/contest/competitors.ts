import { writeFileSync } from 'node:fs';
import { CertificatesFixture } from '../../../dataplane/traffic/testing/certificates.ts';
import { Folder } from '../../testing/dataplane.ts';
import { type Contender, HOST, type Secure, type Task } from '../contenders/contender.ts';
import { type PeerName, peersHere } from '../contenders/peers.ts';
import { sluice } from '../contenders/sluice.ts';
import type { Competitor } from './rounds.ts';

export type Field = {
  readonly cores: readonly number[];
  /** The port of the upstream on 127.0.0.1. */
  readonly upstream: number;
  readonly secure?: boolean;
  /** All that are installed, by default. */
  readonly peers?: readonly PeerName[];
  readonly ours?: (task: Task) => Promise<Contender>;
};

/** Starts ours, and then the others that are installed, runs a task with all of them, and stops them. */
export async function withCompetitors<T>(field: Field, work: (competitors: readonly Competitor[]) => Promise<T>): Promise<T> {
  const { cores, upstream, secure = false, peers, ours = sluice } = field;
  using folder = new Folder();
  const task: Task = { folder, cores, upstream, secure: secure ? pair(folder) : null };
  const competitors: Competitor[] = [];
  try {
    competitors.push({ proxy: await ours(task), version: null, cores });
    for (const { start, version } of peersHere(peers)) competitors.push({ proxy: await start(task), version, cores });
    return await work(competitors);
  } finally {
    await Promise.all(competitors.map(({ proxy }) => proxy.stop()));
  }
}

/** ECDSA with P-256, like the certificates that authorities issue by default. */
function pair(folder: Folder): Secure {
  const authority = new CertificatesFixture();
  const { cert, key } = authority.issue(HOST, '127.0.0.1');
  const secure = { certificate: folder.file('cert.pem'), privateKey: folder.file('key.pem') };
  writeFileSync(secure.certificate, cert);
  writeFileSync(secure.privateKey, key);
  return secure;
}
