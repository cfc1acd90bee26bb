import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PASSTHROUGH_FILE } from '../../shared/name.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { RoutesChange } from '../publish/publisher.ts';

type PassthroughPortTools = {
  readonly stateDir: string;
  readonly log: Log;
  /** Opens the HTTPS port in every worker, if the settings now require it. */
  open(): Promise<void>;
};

/** Opens the HTTPS port with the first route that passes TLS connections through, and from then on at every start. */
export function watchPassthrough({ stateDir, log, open }: PassthroughPortTools): (change: RoutesChange) => void {
  const path = join(stateDir, PASSTHROUGH_FILE);
  let known = existsSync(path);
  return ({ upserts }) => {
    if (known || !upserts.some(({ passesTls }) => passesTls)) return;
    known = true;
    try {
      writeFileSync(path, 'A route passes TLS connections through, so the HTTPS port is open.\n', { mode: 0o600 });
    } catch (error) {
      log.error({ error: String(error) }, 'TLS connections cannot be passed through: the state directory cannot be written');
      known = false;
      return;
    }
    // Not before the routes themselves are published.
    setImmediate(() => void open());
  };
}
