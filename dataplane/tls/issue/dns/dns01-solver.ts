import { join } from 'node:path';
import { z } from 'zod';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import { SavedByName } from '../../store/persistent-map.ts';
import type { Challenge, ChallengeBoard } from '../challenges/challenge.ts';
import { IssueError } from '../issue-error.ts';
import type { PublicDns } from './propagation.ts';
import type { DnsRecords } from './provider.ts';

/** How long a record may take to be public (ms). */
const PUBLIC_MS = 120_000;
/** How often that is looked at (ms): quickly at first. */
const LOOK_MS = { first: 100, most: 2_000 };

export type DnsChallengesTools = {
  readonly records: DnsRecords;
  readonly dns: Pick<PublicDns, 'endOf' | 'shows'>;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly log: Log;
};

const recordSchema = z.object({ name: z.string(), value: z.string() });
type Record = z.output<typeof recordSchema>;

/** DNS-01 (RFC 8555 8.4): a record for each check, there only as long as the check takes. */
export class DnsChallenges implements ChallengeBoard {
  private readonly tools: DnsChallengesTools;
  /** By value: what stands, or may stand, in a zone. What a crash leaves is removed by the next process. */
  private readonly standing: SavedByName<Record>;

  constructor(tools: DnsChallengesTools) {
    const { stateDir, clock, log } = tools;
    this.tools = tools;
    this.standing = new SavedByName(
      {
        path: join(stateDir, 'dns-challenges.json'),
        schema: recordSchema,
        what: 'which DNS records are to be removed',
        cost: 'after a crash they stay',
      },
      clock,
      log,
    );
    for (const [, record] of [...this.standing.entries()]) void this.remove(record);
  }

  async present({ name, keyAuthorization: value }: Challenge): Promise<void> {
    const { records, dns } = this.tools;
    const asked = `_acme-challenge.${name}`;
    // Where that can't be found out, the name itself has to do.
    const record = { name: await dns.endOf(asked).catch(() => asked), value };
    this.standing.set(value, record);
    await records.add(record.name, value);
    await this.untilPublic(record);
  }

  withdraw({ keyAuthorization }: Challenge): void {
    const record = this.standing.get(keyAuthorization);
    if (record !== null) void this.remove(record);
  }

  private async untilPublic({ name, value }: Record): Promise<void> {
    const { dns, clock } = this.tools;
    const end = clock.monotonic() + PUBLIC_MS;
    let why = 'the servers of its zone do not show it';
    for (let wait = LOOK_MS.first; clock.monotonic() < end; wait = Math.min(2 * wait, LOOK_MS.most)) {
      try {
        if (await dns.shows(name, value)) return;
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
      await sleep(clock, wait);
    }
    throw new IssueError('records', `the record ${name} is not public after ${PUBLIC_MS / 1_000} s: ${why}`);
  }

  private async remove({ name, value }: Record): Promise<void> {
    const { records, log } = this.tools;
    try {
      await records.remove(name, value);
      this.standing.set(value, null);
    } catch (error) {
      log.warn({ name, error: error instanceof Error ? error.message : String(error) }, 'a DNS record stays; the next start tries again');
    }
  }
}
