import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { CacheFromWorker } from '../traffic/cache-messages.ts';
import type { BotClaim, CountryDatabase, TargetChange, TrafficReport, WholeState } from '../traffic/protocol.ts';

export type WorkerPoolOptions = {
  readonly count: number;
  /** What its threads run, if it isn't the worker of this source tree or build. */
  readonly entry?: URL | undefined;
  readonly ledger: Ledger;
  readonly hashKey: Uint8Array;
  readonly countries: CountryDatabase | null;
  /** Where Unix sockets for handing over listening sockets may be; null for nowhere. */
  readonly socketDir: string | null;
  readonly clock: Clock;
  readonly log: Log;
  /** The whole published state, for a new worker. */
  state(): WholeState;
  onReport(report: TrafficReport): void;
  onTarget(change: TargetChange): void;
  /** A target with an id does not accept connections. */
  onLost(target: { readonly address: string; readonly id: string }): void;
  onAwaited(name: string): void;
  /** A client claims to be a search engine. */
  onBotClaimed(worker: number, claim: BotClaim): void;
  /** Requests need keys that a set does not have. */
  onKeyWanted(name: string): void;
  onAccessLog(): void;
  onCache(worker: number, message: CacheFromWorker): void;
  onChange(worker: number, state: 'started' | 'replaced' | 'retired' | 'died', reason: string): void;
};
