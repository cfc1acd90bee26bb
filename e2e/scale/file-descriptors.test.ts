import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { ask as get } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { RawClient } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';

const skip = missing('prlimit') ?? (existsSync('/proc/self/fd') ? undefined : 'needs /proc');
const ask = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

/** Limits a process to the files it has open now; after closing one it may open another. */
function useUp(pid: number): void {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (open.has(free)) free++;
  limit(pid, free);
}

function limit(pid: number, files: number): void {
  const { status, stderr } = spawnSync('prlimit', [`--pid=${pid}`, `--nofile=${files}:`], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** The CPU time a process has used, in ticks of 10 ms (proc_pid_stat(5)). */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Opens a connection and sends a request. @returns what was received when it was answered or closed, possibly during the connect. */
function visit(port: number, host: string): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect({ host: '127.0.0.1', port });
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      if (received.includes('\r\n\r\n')) socket.destroy();
    });
    socket.on('error', () => socket.destroy()).on('close', () => resolve(received));
    socket.write(ask(host));
  });
}

/** One value from the probe port's `/metrics`, which is not rate-limited. */
async function metric(probe: number, name: string): Promise<number> {
  const { text } = await get({ port: probe }, '/metrics');
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1),
  );
}

describe('without free file descriptors', { skip }, () => {
  const folder = new Folder();
  let known: Upstream;
  let fresh: Upstream;
  let dataplane: Dataplane;
  let probe: number;

  before(async () => {
    [known, fresh] = [await Upstream.start('known'), await Upstream.start('fresh')];
    probe = await freePort();
    dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--probe-listen', `127.0.0.1:${probe}`] });
    await dataplane.route('known.test', known.address);
    await dataplane.route('fresh.test', fresh.address);
  });
  after(async () => {
    await dataplane[Symbol.asyncDispose]();
    await Promise.all([known[Symbol.asyncDispose](), fresh[Symbol.asyncDispose]()]);
    folder[Symbol.dispose]();
  });

  test('new connections are closed immediately, open ones continue, and everything recovers when descriptors are free', async () => {
    const { pid } = dataplane.program;
    using kept = await RawClient.open(dataplane.httpPort);
    await kept.write(ask('known.test')).sees(/"known"[\s\S]*\}/);
    useUp(pid);
    const before = cpuTicks(pid);
    const began = performance.now();
    for (let turn = 0; turn < 20; turn++) assert.equal(await visit(dataplane.httpPort, 'known.test'), '');
    kept.received = '';
    await kept.write(ask('known.test')).sees(/"known"[\s\S]*\}/);
    // There can be no connection to the other target, which stays in rotation since it is not at fault.
    for (let turn = 0; turn < 4; turn++) {
      kept.received = '';
      assert.match(await kept.write(ask('fresh.test')).sees(/\r\n\r\n[\s\S]+/), /^HTTP\/1\.1 503 [\s\S]*\r\nRetry-After: 1\r\n/);
    }
    const busy = (cpuTicks(pid) - before) * 10;
    assert.ok(busy < 500 + (performance.now() - began) / 2, `${busy} ms of CPU time`);
    limit(pid, 4_096);
    kept.received = '';
    await kept.write(ask('fresh.test')).sees(/"fresh"/);
    assert.match(await visit(dataplane.httpPort, 'known.test'), /^HTTP\/1\.1 200 /);
    const { targets } = JSON.parse((await dataplane.admin('GET', '/explain?url=fresh.test')).text) as { targets: { healthy: boolean }[] };
    assert.deepEqual(
      targets.map(({ healthy }) => healthy),
      [true],
    );
    await dataplane.program.said(/"failure":"no_descriptors"/);
    assert.equal(await metric(probe, 'sluice_worker_restarts_total{reason="died"}'), 0);
  });
});

describe('traffic', { skip }, () => {
  test('never uses the last descriptors: the Admin API responds, and refusals are reported', async () => {
    using folder = new Folder();
    await using upstream = await Upstream.start('slow', () => undefined);
    // Of 200 files, 64 and another 16 for the worker are reserved, which leaves 120 sockets.
    const probe = await freePort();
    const flags = ['--probe-listen', `127.0.0.1:${probe}`, '--max-connections', '100', '--max-connections-per-address', '100'];
    await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1, flags, command: ['prlimit', '--nofile=200'] });
    await dataplane.route('slow.test', upstream.address);
    const clients: RawClient[] = [];
    for (let at = 0; at < 100; at++) clients.push(await RawClient.open(dataplane.httpPort));
    await until('all of them to be let in', async () => (await metric(probe, 'sluice_connections_open')) === 100);
    for (const client of clients) client.write(ask('slow.test'));
    await until(
      'every request to have its turn',
      () => upstream.requests + clients.filter(({ received }) => received !== '').length === 100,
    );
    const answered = clients.filter(({ received }) => received !== '');
    for (const { received } of answered) assert.match(received, /^HTTP\/1\.1 503 /);
    assert.equal(upstream.requests, 20);
    assert.equal(await visit(dataplane.httpPort, 'slow.test'), '');
    assert.equal((await dataplane.admin('GET', '/health')).status, 200);
    assert.equal(await metric(probe, 'sluice_connections_refused_total{reason="limit"}'), 1);
    for (const client of clients) client.socket.resetAndDestroy();
    await until('nothing to be open', async () => (await metric(probe, 'sluice_connections_open')) === 0);
    assert.equal(await metric(probe, 'sluice_requests_in_flight'), 0);
  });

  test('by default one address gets a quarter of the client connections, all of which are served, and one more is closed', async () => {
    using folder = new Folder();
    await using upstream = await Upstream.start('site');
    const probe = await freePort();
    const flags = ['--probe-listen', `127.0.0.1:${probe}`];
    await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1, flags, command: ['prlimit', '--nofile=2000'] });
    await dataplane.route('site.test', upstream.address);
    const clients: RawClient[] = [];
    for (let at = 0; at < 360; at++) clients.push(await RawClient.open(dataplane.httpPort));
    await until('all of them to be let in', async () => (await metric(probe, 'sluice_connections_open')) === 360);
    // It may be closed before the client learns that it was opened.
    const excess = await RawClient.open(dataplane.httpPort).catch((error) => assert.equal(error.code, 'ECONNRESET'));
    await until('one to be closed', async () => (await metric(probe, 'sluice_connections_refused_total{reason="address_limit"}')) === 1);
    for (const client of [clients[0], clients[359]]) assert.match((await client?.write(ask('site.test')).sees(/"site"/)) ?? '', / 200 /);
    for (const client of [...clients, excess]) client?.socket.resetAndDestroy();
  });
});
