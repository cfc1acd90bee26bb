import { Dataplane } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';

type StartOptions = Omit<Parameters<typeof Dataplane.start>[0], 'workers'>;

/** A data plane with one worker, and without certificates: with one, it would redirect requests to HTTPS. */
export async function ownDataplane({ stateDir, flags = [], ...more }: StartOptions): Promise<Dataplane> {
  const own = ['--cert-dir', `${stateDir}-certificates`, '--https-port', `${await freePort()}`];
  return Dataplane.start({ ...more, stateDir, workers: 1, flags: [...own, ...flags] });
}
