import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { textOf } from '../../../shared/values/request-url.ts';
import { createAnalytics } from '../../analytics/analytics.ts';
import type { Publisher } from '../../publish/publisher.ts';
import { restore } from '../../table/disk/restore.ts';
import { LiveTable } from '../../table/live-table.ts';
import { Admin } from '../admin.ts';
import type { AdminDependencies } from '../dependencies.ts';
import { EventFeed } from '../events/event-feed.ts';

export const TOKEN = 'the-token';

export type Reply = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };
export type RequestOptions = {
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly socket?: boolean;
};

/** An Admin API on real sockets over a real table, with a publisher whose workers acknowledge immediately. */
export class RunningAdmin {
  readonly clock: ManualClock;
  readonly admin: Admin;
  readonly table: LiveTable;
  readonly events: EventFeed;
  readonly analytics: ReturnType<typeof createAnalytics>;
  readonly log: ReturnType<typeof memoryLog>;
  readonly socketPath: string;
  readonly folder: string;
  port = 0;
  probePort = 0;

  private constructor(folder: string, table: LiveTable, clock: ManualClock, parts: Partial<AdminDependencies>) {
    this.folder = folder;
    this.socketPath = join(folder, 'admin.sock');
    this.table = table;
    this.clock = clock;
    this.log = memoryLog();
    this.events = new EventFeed();
    this.analytics = createAnalytics({ clock });
    this.admin = new Admin(
      {
        table,
        clock,
        log: this.log,
        token: TOKEN,
        viewToken: undefined,
        events: this.events,
        analytics: {
          snapshots: async () => this.analytics.snapshots(),
          snapshot: async (host) => this.analytics.snapshot(host),
          forget: (host) => this.analytics.forget(host),
        },
        history: null,
        metrics: { text: async () => 'sluice_up 1\n' },
        uptimeSecs: () => 7,
        ready: () => ({ ready: true, reason: null }),
        settings: () => [],
        upstreams: () => [],
        certificates: {
          list: async () => [],
          push: () => Promise.reject(new Error('nowhere to keep it')),
          remove: async () => null,
          retry: async () => null,
        },
        internalRoot: () => null,
        targetReports: () => [],
        isAttacked: () => false,
        explain: async (url) => ({
          url: textOf(url),
          verdict: 'dry',
          routed: false,
          route: null,
          matched: null,
          block: null,
          policies: [],
          targets: [],
          certificate: '',
          problems: [],
          near: null,
        }),
        status: () => ({
          instance: 'i',
          version: '0',
          ready: true,
          reason: null,
          uptime_secs: 7,
          generation: 1,
          routes: 0,
          overridden: 0,
          workers: { configured: 1, serving: 1, restarts: 0 },
          problems: [],
          warnings: [],
          upstreams: { count: 0, healthy: 0, out: [] },
        }),
        overview: () => Promise.reject(new Error('no overview in this test')),
        alerts: async () => [],
        reloaded: () => undefined,
        purge: () => Promise.resolve(null),
        addresses: () => ['10.0.0.7'],
        ...parts,
      },
      systemRandom,
    );
  }

  static async start(parts: Partial<AdminDependencies> = {}, publisher: Publisher = agreeing()): Promise<RunningAdmin> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-admin-'));
    const clock = new ManualClock();
    const table = new LiveTable({ restored: await restore(folder, systemClock, memoryLog()), publisher, clock, random: systemRandom });
    const fixture = new RunningAdmin(folder, table, clock, parts);
    fixture.port = (await fixture.admin.listenTcp('127.0.0.1', 0)).port;
    fixture.probePort = (await fixture.admin.listenProbe('127.0.0.1', 0)).port;
    await fixture.admin.listenSocket(fixture.socketPath);
    return fixture;
  }

  request(method: string, path: string, { token = TOKEN, headers = {}, body, socket = false }: RequestOptions = {}): Promise<Reply> {
    const where = socket ? { socketPath: this.socketPath } : { host: '127.0.0.1', port: this.port };
    const authorization = token === null || socket ? {} : { authorization: `Bearer ${token}` };
    return sendRequest({ ...where, method, path, headers: { ...authorization, ...headers } }, body);
  }

  post(body: object | string, options: RequestOptions = {}): Promise<Reply> {
    return this.request('POST', '/routes', { ...options, body: typeof body === 'string' ? body : JSON.stringify(body) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin.close();
    this.table.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function sendRequest(
  options: { host?: string; port?: number; socketPath?: string; method: string; path: string; headers?: Record<string, string> },
  body?: string | Buffer,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request({ ...options, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end(body);
  });
}

/** A publisher whose workers serve every generation immediately. */
export function agreeing(): Publisher {
  return {
    generation: 1,
    publish() {
      (this as { generation: number }).generation++;
      return Promise.resolve(this.generation);
    },
  };
}
