import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import type { History } from '../../shared/wire/history.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { RawClient } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';

const ok = (dataplane: Dataplane, path = '/analytics/a.test/history'): Promise<History> =>
  dataplane.admin('GET', path).then(({ status, text }) => {
    assert.equal(status, 200, text);
    return JSON.parse(text);
  });

/** `count` requests, counted when this returns. */
async function visit(dataplane: Dataplane, count: number): Promise<void> {
  for (let at = 0; at < count; at++) assert.equal((await dataplane.visit('a.test', `/${at}`)).status, 200);
}

/** The counts that another process finds in the file. */
function savedViews(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return Number(database.prepare("SELECT sum(views) AS views FROM hours JOIN hosts ON id = host WHERE name = 'a.test'").get()?.views);
  } finally {
    database.close();
  }
}

/** A state directory on a disk that is full after a few megabytes, or as soon as it is filled. */
class SmallDisk {
  readonly folder = new Folder();
  readonly stateDir = this.folder.file('state');
  readonly history = `${this.stateDir}/analytics.db`;
  private readonly ballast = `${this.stateDir}/ballast`;

  /** undefined if this user may not mount one. @throws with CI=true in that case. */
  static mount(): SmallDisk | undefined {
    const disk = new SmallDisk();
    mkdirSync(disk.stateDir);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'none', disk.stateDir]).status === 0) return disk;
    disk.folder[Symbol.dispose]();
    if (process.env.CI === 'true') assert.fail('a small file system could not be mounted');
    return undefined;
  }

  fill(): void {
    const { stderr } = spawnSync('dd', ['if=/dev/zero', `of=${this.ballast}`, 'bs=4k'], { encoding: 'utf8' });
    assert.match(stderr, /No space left/);
  }

  free(): void {
    rmSync(this.ballast);
  }

  [Symbol.dispose](): void {
    spawnSync('umount', [this.stateDir]);
    this.folder[Symbol.dispose]();
  }
}

const MAY_NOT_MOUNT = 'needs permission to mount a small file system';
const alerts = async (dataplane: Dataplane) => (await dataplane.admin('GET', '/alerts')).text;

// They run side by side: most of their time they wait for counts to be saved, every ten seconds.
describe('the history of a data plane', { concurrency: true }, () => {
  test('each host that a wildcard or the catch-all has served has its history and snapshot, and is forgotten on request', async () => {
    using folder = new Folder();
    await using app = await Upstream.start('app', (_, response) => response.end('ok'));
    await using dataplane = await Dataplane.start({ stateDir: folder.file('state') });
    const apply = { controller: 'c', epoch: 1, revision: 1, based_on: null, sources: ['s'] };
    const routes = ['*.wild.test', '*'].map((domain) => ({ route: { domain, upstream: app.address, tls: false, source: 's' } }));
    const lines = [{ apply }, ...routes, { end: { revision: 1 } }].map((line) => `${JSON.stringify(line)}\n`);
    await dataplane.admin('POST', '/routes', lines.join(''), { 'content-type': 'application/x-ndjson' });
    for (const host of ['my_app.wild.test', '-x.wild.test', 'x..y', '[::1]']) {
      assert.equal((await dataplane.visit(host)).status, 200, host);
      const path = `/analytics/${encodeURIComponent(host)}`;
      await until(`the visit of ${host} to be counted`, async () => (await dataplane.admin('GET', path)).status === 200);
      assert.equal((await ok(dataplane, `${path}/history`)).totals.views, 1, host);
      assert.equal((await dataplane.admin('DELETE', path)).status, 200, host);
      assert.equal((await dataplane.admin('GET', path)).status, 404, host);
    }
  });

  test('requests without a host are counted for the catch-all, and those that are refused are in no history', async () => {
    using folder = new Folder();
    await using app = await Upstream.start('app', (_, response) => response.end('ok'));
    await using dataplane = await Dataplane.start({ stateDir: folder.file('state') });
    const refused = 'GET / HTTP/9.9\r\nHost: a.test\r\n\r\n';
    const send = async (text: string) => {
      using client = await RawClient.open(dataplane.httpPort);
      return client.write(text).toEnd();
    };
    const apply = { controller: 'c', epoch: 1, revision: 1, based_on: null, sources: ['s'] };
    const route = { domain: '*', upstream: app.address, tls: false, source: 's' };
    const lines = [{ apply }, { route }, { end: { revision: 1 } }].map((line) => `${JSON.stringify(line)}\n`);
    await dataplane.admin('POST', '/routes', lines.join(''), { 'content-type': 'application/x-ndjson' });
    for (const text of ['GET / HTTP/1.0\r\n\r\n', refused, 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n', refused])
      await send(text);
    const expected = [/^sluice_requests_total\{domain="\*",status="2xx"\} 2$/m, /^sluice_unrouted_requests_total\{status="4xx"\} 2$/m];
    await until('each to be counted where it belongs', async () => {
      const { text } = await dataplane.admin('GET', '/metrics');
      return expected.every((line) => line.test(text));
    });
    assert.equal((await ok(dataplane, '/analytics/*/history')).totals.views, 2);
    const { totals: all, hosts } = await ok(dataplane, '/history');
    assert.deepEqual([all.views, hosts?.map(({ domain, views }) => [domain, views])], [2, [['*', 2]]]);
  });

  test('history outlives a takeover, a kill and a restart, is forgotten on request, and a damaged file is replaced', async () => {
    using folder = new Folder();
    await using app = await Upstream.start('app', (_, response) => response.end('ok'));
    const stateDir = folder.file('state');
    const file = `${stateDir}/analytics.db`;
    {
      await using first = await Dataplane.start({ stateDir, env: { SLUICE_VIEW_TOKEN: 'view' } });
      await first.route('a.test', app.address);
      assert.equal((await first.admin('GET', '/analytics/a.test/history')).status, 404);
      await visit(first, 3);
      const { totals, domain, series } = await ok(first);
      assert.deepEqual([domain, totals.views, totals.status_codes.s2xx, series.length], ['a.test', 3, 3, 24]);
      assert.equal((await ok(first, '/history')).hosts?.[0]?.domain, 'a.test');
      const viewing = { authorization: 'Bearer view' };
      assert.equal((await first.admin('GET', '/history', undefined, viewing)).status, 200);
      assert.equal((await first.admin('DELETE', '/analytics/a.test', undefined, viewing)).status, 403);
      for (const [query, words] of [
        ['from=yesterday', 'from is a date or a time'],
        ['from=2026-01-02&to=2026-01-01', 'from must be before to'],
        ['previous_from=2026-01-01', 'previous_from and previous_to are given together'],
        ['previous_from=2026-01-02&previous_to=2026-01-01', 'previous_from is before previous_to'],
        ['previous_from=2020-01-01&previous_to=2026-01-01', 'at most 1000 points'],
        ['step=minute', 'step is hour or day'],
        ['form=csv', 'form is not one of from, to, step, previous_from, previous_to, format'],
        ['from=2020-01-01&to=2026-01-01&step=hour', 'at most 1000 points'],
      ] as const) {
        const { status, text } = await first.admin('GET', `/analytics/a.test/history?${query}`);
        assert.equal(status, 400, query);
        assert.match(text, new RegExp(words));
      }
      const csv = await first.admin('GET', '/analytics/a.test/history?format=csv');
      assert.match(csv.text, /^at,views,humans/);
      assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present');
      await using successor = await Dataplane.start({ stateDir, httpPort: first.httpPort, flags: ['--takeover'] });
      // The old process saves its counts when it has drained.
      await first.program.exited;
      await visit(successor, 2);
      assert.equal((await ok(successor)).totals.views, 5, 'the counts of both processes form one history');
      await until('the counts to be saved', () => savedViews(file) === 5);
      process.kill(successor.program.pid, 'SIGKILL');
      await successor.program.exited;
    }
    assert.equal(statSync(file).mode & 0o777, 0o600);
    {
      await using dataplane = await Dataplane.start({ stateDir });
      assert.equal((await ok(dataplane)).totals.views, 5);
      const { status, text } = await dataplane.admin('DELETE', '/analytics/a.test');
      assert.deepEqual([status, JSON.parse(text)], [200, { deleted: 'a.test' }]);
      assert.equal((await dataplane.admin('GET', '/analytics/a.test/history')).status, 404);
      assert.equal((await dataplane.admin('DELETE', '/analytics/a.test')).status, 404);
      await visit(dataplane, 1);
    }
    assert.equal(savedViews(file), 1, 'a drain saves the last counts');
    writeFileSync(file, 'damaged');
    await using dataplane = await Dataplane.start({ stateDir, flags: ['--analytics-retention', '30d', '--analytics-max-size', '1mb'] });
    await visit(dataplane, 1);
    assert.equal((await ok(dataplane)).totals.views, 1);
    assert.ok(readdirSync(stateDir).some((name) => name.startsWith('analytics.db.damaged-')));
  });

  test('without history there is no file and no thread, and the endpoint says why', async () => {
    using folder = new Folder();
    await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags: ['--analytics-retention', 'off'] });
    const { status, text } = await dataplane.admin('GET', '/history');
    assert.deepEqual([status, JSON.parse(text)], [404, { error: 'no history' }]);
    assert.ok(!existsSync(folder.file('state/analytics.db')));
  });

  test('a full disk affects only the history, is reported, and the counts of that time are saved once there is space', async (context) => {
    using disk = SmallDisk.mount();
    if (disk === undefined) return context.skip(MAY_NOT_MOUNT);
    const { stateDir, history } = disk;
    const hosts = Array.from({ length: 400 }, (_, at) => `h${at}.wild.test`);
    const visitAll = async ({ httpPort }: Dataplane): Promise<void> => {
      using client = await RawClient.open(httpPort);
      client.write(hosts.map((host) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join(''));
      await until('every answer', () => client.received.split('HTTP/1.1 200 OK').length > hosts.length);
    };
    await using app = await Upstream.start('app', (_, response) => response.end('ok'));
    {
      await using dataplane = await Dataplane.start({ stateDir });
      await dataplane.route('a.test', app.address);
      await dataplane.route('*.wild.test', app.address);
      await visit(dataplane, 3);
      await until('the counts to be saved', () => savedViews(history) === 3);
      disk.fill();
      await visit(dataplane, 2);
      await visitAll(dataplane);
      await dataplane.program.said('the history can’t be saved and is kept in memory');
      assert.match(await alerts(dataplane), /history_unavailable/);
      await visit(dataplane, 1);
      assert.equal((await ok(dataplane)).totals.views, 6, 'what waits is answered, too');
      assert.equal(JSON.parse((await dataplane.admin('GET', '/analytics/a.test')).text).page_views_60m, 6);
      disk.free();
      await dataplane.program.said('the history can be saved again');
      assert.doesNotMatch(await alerts(dataplane), /history_unavailable/);
      await visitAll(dataplane);
    }
    assert.equal(savedViews(history), 6, 'each is saved once');
  });

  test('a data plane that starts on a full disk without a history keeps one in memory, and saves it once there is space', async (context) => {
    using disk = SmallDisk.mount();
    if (disk === undefined) return context.skip(MAY_NOT_MOUNT);
    const { stateDir, history } = disk;
    await using app = await Upstream.start('app', (_, response) => response.end('ok'));
    {
      await using dataplane = await Dataplane.start({ stateDir });
      await dataplane.route('a.test', app.address);
    }
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${history}${suffix}`, { force: true });
    disk.fill();
    await using dataplane = await Dataplane.start({ stateDir });
    await visit(dataplane, 2);
    await until('the failure to be among the alerts', async () => (await alerts(dataplane)).includes('history_unavailable'));
    disk.free();
    await dataplane.program.said('the history can be saved again');
    assert.equal((await ok(dataplane)).totals.views, 2);
  });
});
