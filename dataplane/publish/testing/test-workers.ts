import { mkdtempSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { Session } from 'node:inspector';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type RouteInput, readRoute } from '../../../shared/route.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { createLedger, type Ledger } from '../../ledger/ledger.ts';
import type { TrafficReport } from '../../traffic/protocol.ts';
import { SETTINGS } from '../../traffic/testing/proxy/test-proxy.ts';
import { WorkerPool } from '../../workers/worker-pool.ts';
import { type RoutesChange, StatePublisher } from '../publisher.ts';

/** What `npm test` has built starts in a fifth of the time. A file that is run alone tests the sources. */
const BUILT = process.env.TESTED_BUILD;
export const ENTRY = BUILT === undefined ? undefined : pathToFileURL(join(BUILT, 'dist/dataplane/traffic/worker/worker.js'));

/** Test support: real worker threads on their own port, with a real publisher. */
export class WorkersFixture {
  readonly port: number;
  readonly publisher: StatePublisher;
  readonly workers: WorkerPool;
  readonly ledger: Ledger;
  readonly log = memoryLog();
  readonly reports: TrafficReport[] = [];
  readonly changes: string[] = [];
  private readonly folder = mkdtempSync(join(tmpdir(), 'sluice-workers-'));

  private constructor(port: number, count: number, routes: readonly RouteInput[]) {
    this.port = port;
    this.ledger = createLedger(WorkerPool.slots(count));
    this.publisher = new StatePublisher(whole(routes), { ...SETTINGS, httpPort: port });
    this.workers = new WorkerPool({
      count,
      entry: ENTRY,
      ledger: this.ledger,
      hashKey: Buffer.alloc(16),
      socketDir: this.folder,
      countries: null,
      clock: systemClock,
      log: this.log,
      state: () => this.publisher.currentState(),
      onReport: (report) => this.reports.push(report),
      onTarget: () => undefined,
      onLost: () => undefined,
      onAccessLog: () => undefined,
      onCache: () => undefined,
      onAwaited: () => undefined,
      onKeyWanted: () => undefined,
      onBotClaimed: () => undefined,
      onChange: (_, state) => this.changes.push(state),
    });
    this.publisher.attach(this.workers);
  }

  static async start(count: number, routes: readonly RouteInput[]): Promise<WorkersFixture> {
    const fixture = new WorkersFixture(await freePort(), count, routes);
    await fixture.workers.start();
    return fixture;
  }

  add(...routes: RouteInput[]): Promise<number> {
    return this.publisher.publish({ routes: { ...whole(routes), whole: false } });
  }

  remove(...removed: string[]): Promise<number> {
    return this.publisher.publish({ routes: { whole: false, upserts: [], removed } });
  }

  /** One GET on a new connection, handled by any of the workers. */
  visit(host: string, path = '/'): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const call = get({ host: '127.0.0.1', port: this.port, path, headers: { host }, agent: false }, (response: IncomingMessage) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      call.on('error', reject);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.workers.stop();
    rmSync(this.folder, { recursive: true });
  }
}

/** Runs code in the first worker thread that the debugger finds, without the worker's cooperation. */
export async function insideOneWorker(code: string): Promise<void> {
  const session = new Session();
  session.connect();
  const attached = new Promise<string>((resolve) => session.once('NodeWorker.attachedToWorker', ({ params }) => resolve(params.sessionId)));
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  const sessionId = await attached;
  const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: code } });
  session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
  // The worker may never respond; the session ends with the process or the worker.
}

export function whole(routes: readonly RouteInput[]): RoutesChange {
  const upserts = routes.map((input) => {
    const result = readRoute(input);
    if ('problem' in result) throw new Error(`${result.problem.member}: ${result.problem.reason}`);
    return {
      domain: result.route.domain,
      json: JSON.stringify(result.route),
      healthChecks: false,
      fetchesKeys: false,
      passesTls: false,
      severalLabels: false,
    };
  });
  return { whole: true, upserts, removed: [] };
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}
