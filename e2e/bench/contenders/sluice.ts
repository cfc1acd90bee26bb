import { Dataplane, type Folder } from '../../harness/dataplane.ts';
import { type Contender, HOST, started } from './contender.ts';

/** A data plane with one worker on one core. */
export async function sluice(folder: Folder, core: number, upstream: number): Promise<Contender & { readonly dataplane: Dataplane }> {
  const dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 1, command: ['taskset', '-c', `${core}`] });
  await dataplane.route(HOST, `127.0.0.1:${upstream}`);
  return { ...(await started('sluice', dataplane.program, dataplane.httpPort)), dataplane };
}
