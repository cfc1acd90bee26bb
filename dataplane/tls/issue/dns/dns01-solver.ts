import { join } from 'node:path';
import * as z from 'zod';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import type { Challenge, ChallengeSolver } from '../challenges/challenge.ts';
import { IssueError } from '../issue-error.ts';
import type { PropagationCheck } from './propagation.ts';
import type { DnsProvider } from './provider.ts';

/** How long a record may take to propagate (ms). */
const PROPAGATION_TIMEOUT_MS = 120_000;
/** The interval between propagation checks (ms), doubled from the first to the longest. */
const POLL_MS = { first: 100, most: 2_000 };

export type Dns01SolverTools = {
  readonly provider: DnsProvider;
  readonly propagation: Pick<PropagationCheck, 'resolveAlias' | 'hasPropagated'>;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: Log;
};

const recordSchema = z.object({ name: z.string(), value: z.string() });
type Record = z.output<typeof recordSchema>;

/** Solves DNS-01 (RFC 8555 8.4) with a TXT record that exists only while the challenge is pending. */
export class Dns01Solver implements ChallengeSolver {
  private readonly tools: Dns01SolverTools;
  /** By value: records that exist, or may exist, in a zone. The next process removes those that a crash left behind. */
  private readonly records: PersistentMap<Record>;
  /** Those of pending challenges. */
  private readonly pending = new Map<string, Record>();

  constructor(tools: Dns01SolverTools) {
    const { stateDir, clock, log } = tools;
    this.tools = tools;
    this.records = new PersistentMap(
      {
        path: join(stateDir, 'dns-challenges.json'),
        schema: recordSchema,
        what: 'the list of DNS records to remove',
        cost: 'after a crash they are left behind',
      },
      clock,
      log,
    );
    for (const [, record] of [...this.records.entries()]) void this.remove(record);
  }

  async present({ name, keyAuthorization: value }: Challenge): Promise<void> {
    const { provider, propagation } = this.tools;
    const recordName = `_acme-challenge.${name}`;
    // If the lookup fails, use the name itself.
    const record = { name: await propagation.resolveAlias(recordName).catch(() => recordName), value };
    this.pending.set(value, record);
    this.records.set(value, record);
    await provider.add(record.name, value);
    await this.waitForPropagation(record);
  }

  cleanUp({ keyAuthorization }: Challenge): void {
    const record = this.pending.get(keyAuthorization);
    if (record === undefined) return;
    this.pending.delete(keyAuthorization);
    void this.remove(record);
  }

  /** The process ends. Resolves when the list of records is on disk, or that has failed. */
  release(): Promise<void> {
    return this.records.release();
  }

  /** The same for another process that takes over: it must not remove what orders in progress need, and this one removes afterwards. */
  handOver(): Promise<void> {
    for (const value of this.pending.keys()) this.records.set(value, null);
    return this.release();
  }

  reclaim(): void {
    for (const [value, record] of this.pending) this.records.set(value, record);
    this.records.reclaim();
  }

  private async waitForPropagation({ name, value }: Record): Promise<void> {
    const { propagation, clock } = this.tools;
    const end = clock.monotonic() + PROPAGATION_TIMEOUT_MS;
    let why = 'the servers of its zone do not show it';
    for (let wait = POLL_MS.first; clock.monotonic() < end; wait = Math.min(2 * wait, POLL_MS.most)) {
      try {
        if (await propagation.hasPropagated(name, value)) return;
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
      await sleep(clock, wait);
    }
    throw new IssueError('records', `the record ${name} is not public after ${PROPAGATION_TIMEOUT_MS / 1_000} s: ${why}`);
  }

  private async remove({ name, value }: Record): Promise<void> {
    const { provider, log } = this.tools;
    try {
      await provider.remove(name, value);
      this.records.set(value, null);
    } catch (error) {
      log.warn(
        { name, error: error instanceof Error ? error.message : String(error) },
        'a DNS record could not be removed; the next start tries again',
      );
    }
  }
}
