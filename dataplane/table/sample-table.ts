import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RouteInput, type RouteSpec, readRoute } from '../../shared/route.ts';
import { memoryLog } from '../../shared/runtime/log.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import type { Apply } from '../../shared/wire/apply.ts';
import { FakePublisher } from './fake-publisher.ts';
import { LiveTable } from './live-table.ts';
import { ManualClock } from './manual-clock.ts';
import { restore } from './restore.ts';
import type { Frame, TableChange } from './table.ts';

/** A real table in a state directory of its own, which may be closed and opened again as by a restart. */
export class SampleTable {
  readonly stateDir: string;
  readonly log: ReturnType<typeof memoryLog>;
  readonly clock: ManualClock;
  readonly publisher: FakePublisher;
  readonly table: LiveTable;
  readonly changes: TableChange[] = [];
  private readonly ownsDir: boolean;

  private constructor(stateDir: string, ownsDir: boolean, log: ReturnType<typeof memoryLog>, clock: ManualClock, parts: Parts) {
    this.stateDir = stateDir;
    this.ownsDir = ownsDir;
    this.log = log;
    this.clock = clock;
    this.publisher = parts.publisher;
    this.table = parts.table;
    this.table.onChange((change) => this.changes.push(change));
  }

  /** Opens the table of a directory; of a new one when none is given. */
  static async open(stateDir?: string, clock = new ManualClock()): Promise<SampleTable> {
    const directory = stateDir ?? mkdtempSync(join(tmpdir(), 'sluice-table-'));
    const log = memoryLog();
    const publisher = new FakePublisher();
    const restored = await restore(directory, clock, log);
    const table = new LiveTable({ restored, publisher, clock, random: systemRandom });
    return new SampleTable(directory, stateDir === undefined, log, clock, { publisher, table });
  }

  /** Another process on the same directory, after this one has closed its table. */
  async again(): Promise<SampleTable> {
    this.table.close();
    return SampleTable.open(this.stateDir, this.clock);
  }

  /** `DOMAIN → UPSTREAM by WHO` of each visible route, in the order of the list. */
  view(): string[] {
    return this.table.list().map(({ route, controller }) => `${route.domain} → ${route.upstream} by ${controller ?? 'hand'}`);
  }

  [Symbol.dispose](): void {
    try {
      this.table.close();
    } catch (error) {
      // A test may have closed it already.
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE')) throw error;
    }
    if (this.ownsDir) rmSync(this.stateDir, { recursive: true, force: true });
  }
}

type Parts = { readonly publisher: FakePublisher; readonly table: LiveTable };

/** A route as its reader makes it. @throws when it is none. */
export function sampleRoute(domain: string, port: number, more: Partial<RouteInput> = {}): RouteSpec {
  const result = readRoute({ domain, upstream: `127.0.0.1:${port}`, tls: false, ...more });
  if ('problem' in result) throw new Error(`${result.problem.member}: ${result.problem.reason}`);
  return result.route;
}

/** A frame of controller `c1` that is the whole truth about the source `file`, unless it says otherwise. */
export function sampleFrame(
  header: Partial<Apply> & Pick<Apply, 'revision'>,
  routes: readonly RouteSpec[],
  more: Partial<Omit<Frame, 'header' | 'routes'>> = {},
): Frame {
  return {
    header: { controller: 'c1', epoch: 1, based_on: null, sources: ['file'], reload: false, ...header },
    routes,
    rejected: [],
    removes: [],
    problems: [],
    ...more,
  };
}
