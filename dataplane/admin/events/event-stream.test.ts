import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Overview } from '../../../shared/wire/dashboard.ts';
import { RunningAdmin, TOKEN } from '../testing/running-admin.ts';

/** A reader of GET /events that can stop reading. */
class Reader {
  readonly socket: Socket;
  text = '';
  closed = false;

  constructor(api: RunningAdmin, path = '/events', token = TOKEN) {
    this.socket = connect(api.port, '127.0.0.1');
    this.socket.on('data', (piece) => {
      this.text += piece;
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  }

  async sees(text: string | RegExp): Promise<void> {
    await until(`${text} in ${this.text.slice(-300)}`, () => (typeof text === 'string' ? this.text.includes(text) : text.test(this.text)));
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

const DIED = { kind: 'worker', worker: 1, state: 'died', reason: 'because' } as const;

describe('server-sent events', () => {
  it('reach every connected reader with their kind and object, and none that has left', async () => {
    await using api = await RunningAdmin.start();
    using first = new Reader(api);
    using second = new Reader(api);
    for (const reader of [first, second]) await reader.sees(': connected');
    api.events.emit(DIED);
    for (const reader of [first, second]) await reader.sees('event: worker\ndata: {"worker":1,"state":"died","reason":"because"}\n\n');
    first.socket.destroy();
    api.events.emit({ kind: 'reload', ok: true, errors: [] });
    await second.sees('event: reload\ndata: {"ok":true,"errors":[]}\n\n');
  });

  it('report changed routes, and controllers that connect and disconnect', async () => {
    await using api = await RunningAdmin.start();
    using reader = new Reader(api);
    await reader.sees(': connected');
    await api.post({ domain: 'a.test', upstream: 'a:1', tls: false });
    await api.post({ domain: 'a.test', upstream: 'a:2', tls: false });
    await api.request('DELETE', '/routes/a.test');
    await reader.sees(/"added":\["a.test"\].*"changed":\["a.test"\].*"removed":\["a.test"\]/s);
    const lines = [{ apply: { controller: 'c', epoch: 1, revision: 1, based_on: null, sources: ['file'] } }, { end: { revision: 1 } }];
    await api.post(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { headers: { 'content-type': 'application/x-ndjson' } });
    await reader.sees(/event: controller\ndata: \{"controller":"c","connected":true\}.*"connected":false/s);
  });

  it('are kept open by a comment every 20 seconds, and do not count against the published limit', async () => {
    await using api = await RunningAdmin.start();
    using reader = new Reader(api);
    await reader.sees(': connected');
    assert.doesNotMatch(reader.text, /: alive/);
    api.clock.pass(20_000);
    await reader.sees(': alive\n\n');
    for (let times = 0; times < 60; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
    assert.equal((await api.request('GET', '/routes')).status, 429);
    assert.equal(reader.closed, false);
  });

  it('are cut off for a reader that does not read, and for no other', async () => {
    await using api = await RunningAdmin.start();
    using slow = new Reader(api);
    using quick = new Reader(api);
    for (const reader of [slow, quick]) await reader.sees(': connected');
    slow.socket.pause();
    const reason = 'x'.repeat(100_000);
    for (let sent = 1; sent <= 200; sent++) {
      api.events.emit({ ...DIED, reason });
      await until('the event to reach the quick reader', () => quick.text.length >= sent * reason.length);
    }
    slow.socket.resume();
    await until('the end of the slow reader', () => slow.closed);
    assert.ok(slow.text.length < quick.text.length);
    assert.equal(quick.closed, false);
  });

  it('are at most 256, so that the rest of the Admin API stays reachable, and one more gets a Retry-After', async () => {
    await using api = await RunningAdmin.start();
    using readers = new DisposableStack();
    const opened = Array.from({ length: 256 }, () => readers.use(new Reader(api)));
    for (const reader of opened) await reader.sees(': connected');
    const { status, headers, text } = await api.request('GET', '/events');
    assert.deepEqual([status, headers['retry-after'], JSON.parse(text)], [503, '15', { error: 'too many event streams' }]);
    assert.equal((await api.request('GET', '/status')).status, 200);
    for (const reader of opened) reader.socket.destroy();
    // The other side notices a moment later.
    const admitted = async (): Promise<boolean> => {
      using next = new Reader(api);
      await next.sees(/HTTP.1.1 (?:200|503) /);
      return next.text.startsWith('HTTP/1.1 200');
    };
    while (!(await admitted()));
  });
});

const OVERVIEW: Omit<Overview, 'at' | 'status'> = {
  ...{ alerts: [], alert_count: 0, hosts: [], host_count: 0 },
  traffic: { requests_per_sec: 0, bytes_per_sec: 0, errors_per_sec: 0 },
  upstreams: { count: 0, healthy: 0 },
  certificates: { count: 0, failed: 0, expiring: 0 },
  cache: null,
};

/** An Admin API whose overviews are numbered in `at`. */
async function overviews(more: object = {}) {
  const computed: string[] = [];
  const api = await RunningAdmin.start({
    overview: async ({ controllers, last_reload }) => {
      computed.push(`${computed.length + 1}`);
      const status = { instance: 'i', version: '0', ready: true, reason: null, uptime_secs: 7, generation: 1, routes: 0, overridden: 0 };
      const rest = {
        workers: { configured: 1, serving: 1, restarts: 0 },
        problems: [],
        warnings: [],
        upstreams: { count: 0, healthy: 0, out: [] },
      };
      return { at: `no. ${computed.length}`, status: { ...status, ...rest, controllers, last_reload }, ...OVERVIEW };
    },
    ...more,
  });
  return { api, computed };
}

const ALERT = {
  severity: 'error',
  code: 'not_ready',
  domain: null,
  subject: 'data plane',
  message: 'm',
  action: 'a',
  since: null,
} as const;

const DASHBOARD = '/events?view=dashboard';

describe('the overview of the dashboard', () => {
  it('is sent at once and then every two seconds, computed once for all readers', async () => {
    const { api, computed } = await overviews();
    await using _ = api;
    using first = new Reader(api, DASHBOARD);
    await first.sees(/^event: overview\ndata: \{"at":"no. 1",.*\}\n\n/m);
    using second = new Reader(api, DASHBOARD);
    await second.sees('"at":"no. 1"');
    api.clock.pass(2_000);
    for (const reader of [first, second]) await reader.sees('"at":"no. 2"');
    assert.deepEqual(computed, ['1', '2']);
  });

  it('is not computed while no stream is open', async () => {
    const { api, computed } = await overviews();
    await using _ = api;
    {
      using reader = new Reader(api, DASHBOARD);
      await reader.sees('"at":"no. 1"');
    }
    const computes = (): boolean => {
      const before = computed.length;
      api.clock.pass(2_000);
      return computed.length > before;
    };
    await until('the end of the stream', () => !computes());
    const sofar = computed.length;
    api.clock.pass(60_000);
    assert.equal(computed.length, sofar);
    using reader = new Reader(api, DASHBOARD);
    await reader.sees(`"at":"no. ${sofar + 1}"`);
  });

  it('is sent again after one that failed, which is logged', async () => {
    let fails = true;
    await using broken = await RunningAdmin.start({
      overview: () =>
        fails ? Promise.reject(new Error('broken')) : Promise.resolve({ at: 'well', status: {} as Overview['status'], ...OVERVIEW }),
    });
    using reader = new Reader(broken, DASHBOARD);
    await until('the log', () => broken.log.lines.some(({ message }) => message === 'the overview failed'));
    fails = false;
    broken.clock.pass(2_000);
    await reader.sees('"at":"well"');
  });

  it('reaches a reader that falls behind as the newest one only, which is not cut off', async () => {
    let number = 0;
    const pad = [{ ...ALERT, message: 'x'.repeat(100_000) }];
    await using api = await RunningAdmin.start({
      overview: async () => ({ at: `no. ${++number}.`, status: {} as Overview['status'], ...OVERVIEW, alerts: pad }),
    });
    using reader = new Reader(api, DASHBOARD);
    await reader.sees('no. 1.');
    reader.socket.pause();
    // The buffers of the kernel hold a few megabytes, and these are 60.
    while (number < 600) {
      const before = number;
      api.clock.pass(2_000);
      await until('the next overview', () => number > before);
      await nextTurn();
    }
    reader.socket.resume();
    await reader.sees('no. 600.');
    assert.ok(reader.text.length < 30_000_000, `${reader.text.length}`);
    assert.ok(!reader.text.includes('no. 599.'));
    assert.equal(reader.closed, false);
  });

  it('contains no other events, and is kept open and cut off as the stream of events is', async () => {
    const { api } = await overviews();
    await using _ = api;
    using reader = new Reader(api, DASHBOARD);
    await reader.sees('"at":"no. 1"');
    api.events.emit(DIED);
    api.clock.pass(20_000);
    await reader.sees(': alive\n\n');
    assert.doesNotMatch(reader.text, /event: worker/);
  });

  it('can be read with the view token, as the alerts can, and an unknown view is rejected', async () => {
    const alert = ALERT;
    const { api } = await overviews({ viewToken: 'only-to-look', alerts: async () => [alert] });
    await using _ = api;
    using reader = new Reader(api, DASHBOARD, 'only-to-look');
    await reader.sees('"at":"no. 1"');
    const looked = await api.request('GET', '/alerts', { token: 'only-to-look' });
    assert.deepEqual([looked.status, JSON.parse(looked.text)], [200, [alert]]);
    const unknown = await api.request('GET', '/events?view=everything');
    assert.equal(unknown.status, 400);
    assert.match(unknown.text, /view must be &quot;dashboard&quot; or absent/);
    for (const wrong of ['history=a%20b', 'history=*&step=week', 'history=*&from=2'])
      assert.equal((await api.request('GET', `${DASHBOARD}&${wrong}`)).status, 400, wrong);
  });
});
