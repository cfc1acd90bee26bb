import { Dataplane } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';

type Options = Omit<Parameters<typeof Dataplane.start>[0], 'workers'>;

/**
 * A data plane with one worker and no certificates: it would redirect requests for a host with a certificate to HTTPS.
 */
export async function ownDataplane({ stateDir, flags = [], ...more }: Options): Promise<Dataplane> {
  const own = ['--cert-dir', `${stateDir}-certificates`, '--https-port', `${await freePort()}`];
  return Dataplane.start({ ...more, stateDir, workers: 1, flags: [...own, ...flags] });
}
