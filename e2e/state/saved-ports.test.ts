import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, TOKEN } from '../testing/dataplane.ts';
import { ask, visit } from '../testing/http.ts';
import { freePort, usedBy } from '../testing/ports.ts';
import { DATAPLANE, Program, run, SLUICE } from '../testing/process.ts';

async function taken(): Promise<{ server: Server; port: number }> {
  const server = createServer().listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** A site and globals that name these ports, as a controller sends them after its `epoch`th start. */
function frameWith(http_port: number | readonly number[], epoch: number): string {
  const lines = [
    { apply: { controller: 'tests', epoch, revision: 1, based_on: null, sources: ['file'] } },
    { settings: { http_port, bind: '127.0.0.1' } },
    { route: { domain: 'a.test', upstream: null, tls: false, source: 'file', respond: { status: 200, body: 'here' } } },
    { end: { revision: 1 } },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Leaves a saved table whose globals name these ports. */
async function save(stateDir: string, http_port: readonly number[]): Promise<void> {
  await using first = await Dataplane.start({ stateDir });
  const answer = await first.admin('POST', '/routes', frameWith(http_port, 1), { 'content-type': 'application/x-ndjson' });
  assert.equal(answer.status, 200, answer.text);
}

/** Starts a data plane without flags for ports. */
async function start(
  stateDir: string,
  admin: number,
  entry: readonly string[] = DATAPLANE,
  more: readonly string[] = [],
): Promise<Program> {
  const [command = '', ...args] = entry;
  const flags = ['--admin-listen', `127.0.0.1:${admin}`, '--state-dir', stateDir, '--workers', '2', ...more];
  const program = new Program(command, [...args, ...flags], { SLUICE_ADMIN_TOKEN: TOKEN });
  await program.said('"msg":"data plane started"').catch(async (error: unknown) => {
    await program[Symbol.asyncDispose]();
    throw error;
  });
  return program;
}

const asked = (port: number, path: string) => ask({ port }, path, { headers: { authorization: `Bearer ${TOKEN}` } });

async function apply(admin: number, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' };
  assert.equal((await ask({ port: admin }, '/routes', { method: 'POST', headers, body })).status, 200);
}

test('saved ports that can’t be opened are left out, reported and opened when they are free', async () => {
  using folder = new Folder();
  const [free, admin, other] = [await freePort(), await freePort(), await taken()];
  const stateDir = folder.file('state');
  await save(stateDir, [other.port, free, admin]);
  await using program = await start(stateDir, admin);
  assert.equal((await visit(free, 'a.test')).text, 'here');
  const inUse = `http_port ${other.port} is closed: the address is already in use${usedBy(process.pid)}; it is tried again every 10 s`;
  const own = `http_port ${admin} is closed: the Admin API listens there; it is tried again every 10 s`;
  const { warnings } = JSON.parse((await asked(admin, '/status')).text) as { warnings: string[] };
  assert.deepEqual(warnings, [inUse, own]);
  for (const warning of warnings) assert.ok(program.output.includes(warning), program.output);
  const ready = await asked(admin, '/ready');
  assert.deepEqual([ready.status, JSON.parse(ready.text)], [200, { ready: true, waiting: inUse }]);
  const settings = JSON.parse((await asked(admin, '/settings')).text) as { name: string; value: unknown }[];
  assert.equal(settings.find(({ name }) => name === 'http_port')?.value, free);

  other.server.close();
  await program.said('ports that could not be opened are open now');
  assert.equal((await visit(other.port, 'a.test')).text, 'here');
  assert.equal((await visit(free, 'a.test')).text, 'here');
  assert.equal(program.output.split(own).length, 2, 'it is said once');
});

test('with no saved port that can be opened, the Admin API says so and accepts a correction', async () => {
  using folder = new Folder();
  const [free, admin, other] = [await freePort(), await freePort(), await taken()];
  const stateDir = folder.file('state');
  await save(stateDir, [other.port]);
  await using _ = await start(stateDir, admin);
  const ready = await asked(admin, '/ready');
  assert.deepEqual([ready.status, JSON.parse(ready.text)], [503, { ready: false, error: 'no port is open' }]);
  await apply(admin, frameWith(free, 2));
  await until('the corrected port to be open', async () => (await visit(free, 'a.test')).text === 'here');
  assert.equal((await asked(admin, '/ready')).status, 200);
  other.server.close();
});

test('a successor leaves out a saved port that can’t be opened, and serves the others', async () => {
  using folder = new Folder();
  const [free, admin, other] = [await freePort(), await freePort(), await taken()];
  const stateDir = folder.file('state');
  await save(stateDir, [free, other.port, admin]);
  await using program = await start(stateDir, admin, [SLUICE, 'dataplane']);
  const upgrade = new Program(SLUICE, ['upgrade', '--state-dir', stateDir]);
  assert.deepEqual(await upgrade.exited, { code: 0, signal: null }, upgrade.output + program.output);
  assert.equal((await visit(free, 'a.test')).text, 'here');
  other.server.close();
});

test('an upgrade gives up no port for one that can’t be opened', async () => {
  using folder = new Folder();
  const [served, next, admin, other] = [await freePort(), await freePort(), await freePort(), await taken()];
  const stateDir = folder.file('state');
  await save(stateDir, [served]);
  await using program = await start(stateDir, admin, [SLUICE, 'dataplane']);
  await apply(admin, frameWith([other.port, next], 2));
  await program.said(`but stays ${served}: the address is already in use`);
  const upgrade = await run(['upgrade', '--state-dir', stateDir]);
  assert.equal(upgrade.code, 1, upgrade.stdout);
  const why = `can't listen on ${other.port}: the address is already in use${usedBy(process.pid)}; name another with http_port in the config file`;
  assert.ok(upgrade.stderr.includes(why), upgrade.stderr);
  assert.equal((await visit(served, 'a.test')).text, 'here');
  other.server.close();
  await until('the ports to be open', async () => (await visit(other.port, 'a.test').catch(() => null))?.text === 'here');
  assert.equal((await run(['upgrade', '--state-dir', stateDir])).code, 0);
  for (const port of [other.port, next]) assert.equal((await visit(port, 'a.test')).text, 'here');
});

test('a port of a flag that can’t be opened is an error', async () => {
  using folder = new Folder();
  const [admin, other] = [await freePort(), await taken()];
  await assert.rejects(
    start(folder.file('state'), admin, DATAPLANE, ['--bind', '127.0.0.1', '--http-port', `${await freePort()},${other.port}`]),
    ({ message }: Error) =>
      message.includes(`can't listen on ${other.port}: the address is already in use${usedBy(process.pid)}; name another with --http-port`),
  );
  other.server.close();
});
