import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Compare } from '../policy/basic-auth/passwords.ts';
import type { FromWorker, WorkerStart } from '../protocol.ts';
import type { BlockKinds } from '../route/compile.ts';

/** What a worker is started with. */
export type WorkerTools = {
  readonly start: WorkerStart;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly post: (message: FromWorker) => void;
  /** How passwords are compared; bcrypt if absent. */
  readonly compare?: Compare;
  /** The maximum number of open connections to one target; the default if absent. */
  readonly maxPerTarget?: number;
  /** The filters and responders that blocks can have; all of them if absent. */
  readonly blockKinds?: BlockKinds;
};
