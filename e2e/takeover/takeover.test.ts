import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Store } from '../../dataplane/table/disk/store.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, TOKEN } from '../testing/dataplane.ts';
import { ask, visit } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { DATAPLANE, Program, SLUICE } from '../testing/process.ts';
import { RawClient } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';
import { inOwnNetwork } from './namespace.ts';

/** The client of a takeover socket, simulated by the test. */
class Successor {
  private readonly socket: Socket;
  private received = '';

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('utf8').on('data', (text: string) => {
      this.received += text;
    });
  }

  static async of(folder: Folder): Promise<Successor> {
    const socket = connect(folder.file('takeover.sock'));
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Successor(socket);
  }

  async says(message: object, answer: string): Promise<void> {
    this.socket.write(`${JSON.stringify(message)}\n`);
    await until(`${answer} in ${this.received}`, () => this.received.includes(answer));
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

const INTRODUCTION = { takeover: { version: '9', pid: 1 } };

describe('a data plane that no other replaces', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--takeover'] });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('starts as usual with --takeover if there is no running process', async () => {
    assert.match(dataplane.program.output, /no running process to take over from/);
  });

  test('a successor that exits before it serves changes nothing, and pending changes are saved', async () => {
    await using upstream = await Upstream.start('one');
    await dataplane.route('a.test', upstream.address);
    let posted: Promise<void> | undefined;
    {
      using successor = await Successor.of(folder);
      await successor.says(INTRODUCTION, '"released"');
      posted = dataplane.route('b.test', upstream.address);
      assert.equal((await dataplane.visit('a.test')).status, 200, 'traffic continues');
      assert.match((await dataplane.admin('GET', '/routes')).text, /a\.test/, 'the Admin API still answers reads');
    }
    await posted;
    assert.equal((await dataplane.visit('b.test')).status, 200);
    await dataplane.program.said('the takeover failed: this process continues');
  });

  test('the Admin API is reopened if the successor exits after it was closed', async () => {
    await using upstream = await Upstream.start('one');
    {
      using successor = await Successor.of(folder);
      await successor.says(INTRODUCTION, '"released"');
      await successor.says({ serving: {} }, '"admin"');
      await assert.rejects(dataplane.admin('GET', '/routes'), /ECONNREFUSED/);
    }
    await until('the Admin API to answer', async () => (await ask({ port: dataplane.adminPort }, '/health')).status === 200);
    await dataplane.route('a.test', upstream.address);
    assert.equal((await dataplane.visit('a.test')).status, 200);
  });

  test('a change that waits when the successor takes the Admin API is answered with 503', async () => {
    await using upstream = await Upstream.start('one');
    {
      using successor = await Successor.of(folder);
      await successor.says(INTRODUCTION, '"released"');
      using caller = await RawClient.open(dataplane.adminPort);
      const body = JSON.stringify({ domain: 'waiting.test', upstream: upstream.address, tls: false });
      const head = `POST /routes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${body.length}`;
      await caller.write(`${head}\r\nExpect: 100-continue\r\n\r\n`).sees('100 Continue');
      caller.write(body);
      await successor.says({ serving: {} }, '"admin"');
      assert.match(await caller.sees('send the request to its successor'), /^HTTP\/1\.1 503 /m);
    }
    await until('the Admin API to answer', async () => (await ask({ port: dataplane.adminPort }, '/health')).status === 200);
    assert.doesNotMatch((await dataplane.admin('GET', '/routes')).text, /waiting\.test/);
  });

  test('a second concurrent takeover is rejected with the reason and exit code 2', async () => {
    using first = await Successor.of(folder);
    await first.says(INTRODUCTION, '"released"');
    await using second = successor(dataplane, folder);
    assert.equal((await second.exited).code, 2);
    assert.match(second.stderr, /^sluice dataplane: can't take over from .*takeover\.sock: another process is taking over right now\n$/);
  });

  test('a port in use by another process is still rejected without --takeover', async () => {
    using other = new Folder();
    await using second = new Program(SLUICE, [
      ...['dataplane', '--http-port', `${dataplane.httpPort}`, '--bind', '127.0.0.1', '--state-dir', other.path],
      ...['--admin-listen', `127.0.0.1:${await freePort()}`],
    ]);
    assert.equal((await second.exited).code, 2);
    assert.match(second.stderr, /the address is already in use/);
  });
});

/** A data plane simulated by the test: it handles a takeover up to a step, and then dies or takes everything back. */
async function predecessor(folder: Folder, answers: readonly string[], dies: boolean): Promise<Server> {
  const server = createServer((socket) => {
    const left = [...answers];
    socket.on('error', () => socket.destroy());
    socket.on('data', (text) => {
      if (text.includes('"describe"')) return void socket.end('{"description":{}}\n');
      const answer = left.shift();
      if (answer !== undefined) return void socket.write(`{"${answer}":{}}\n`);
      if (dies) server.close();
      socket.destroy();
    });
  });
  server.listen(folder.file('takeover.sock'));
  await once(server, 'listening');
  return server;
}

const STEPS = [[], ['released'], ['released', 'admin']];

test('if the old process is killed at any step of a takeover, the new one serves', async () => {
  for (const answers of STEPS) {
    using folder = new Folder();
    await using upstream = await Upstream.start('one');
    await using _ = await predecessor(folder, answers, true);
    await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--takeover'] });
    await dataplane.program.said('data plane started');
    await dataplane.route('a.test', upstream.address);
    assert.equal((await dataplane.visit('a.test')).status, 200);
  }
});

test('if the old process takes everything back at any step, the new one prints one line and exits with 2', async () => {
  for (const answers of STEPS) {
    using folder = new Folder();
    await using _ = await predecessor(folder, answers, false);
    const ports = ['--http-port', `${await freePort()}`, '--bind', '127.0.0.1', '--admin-listen', `127.0.0.1:${await freePort()}`];
    const args = ['dataplane', ...ports, '--state-dir', folder.path, '--workers', '1', '--takeover', '--log-level', 'error'];
    await using program = new Program(SLUICE, args, { SLUICE_ADMIN_TOKEN: TOKEN });
    assert.equal((await program.exited).code, 2);
    assert.match(program.stderr, /^sluice dataplane: can't take over from .*takeover\.sock: the other process is gone\n$/);
  }
});

const ENDS = [
  [
    'that is told to stop',
    (program: Program, _: Socket) => void program.child.kill('SIGTERM'),
    143,
    'told to stop before it had taken over',
  ],
  ['from which the old process takes everything back', (_: Program, socket: Socket) => void socket.destroy(), 2, 'is gone'],
] as const;

for (const [which, end, code, reason] of ENDS)
  test(`a successor ${which} when its workers serve finishes their requests, and the old process can go on at once`, async () => {
    using folder = new Folder();
    const held: (() => void)[] = [];
    await using upstream = await Upstream.start('slow', (_, response) => void held.push(() => response.end('here')));
    {
      await using before = await Dataplane.start({ stateDir: folder.path });
      await before.route('slow.test', upstream.address);
      await before.program.kill('SIGTERM');
    }
    const takeover = Promise.withResolvers<Socket>();
    await using _ = createServer((socket) => {
      socket.once('data', (text) => {
        if (text.includes('"describe"')) return void socket.end('{"description":{}}\n');
        socket.write('{"released":{}}\n');
        takeover.resolve(socket);
      });
    }).listen(folder.file('takeover.sock'));
    const port = await freePort();
    const flags = ['--bind', '127.0.0.1', '--http-port', `${port}`, '--admin-listen', `127.0.0.1:${await freePort()}`];
    const [node, ...entry] = DATAPLANE;
    await using program = new Program(node, [...entry, ...flags, '--state-dir', folder.path, '--takeover'], { SLUICE_ADMIN_TOKEN: TOKEN });
    const socket = await takeover.promise;
    const gone = once(socket, 'close');
    const serving = once(socket, 'data');
    const answered = until('a response', () => visit(port, 'slow.test'));
    await Promise.all([serving, until('a request to be under way', () => held.length > 0)]);
    end(program, socket);
    await gone;
    // The old process opens its table again.
    await until('the table to be free', () => new Store(folder.file('routes.db')).close() === undefined);
    for (const answer of held) answer();
    assert.equal((await answered).text, 'here');
    assert.equal((await program.exited).code, code);
    assert.match(program.stderr, new RegExp(`^sluice dataplane: [^\\n]*${reason}\\n$`));
  });

test('the old process finishes a response in progress, and a kept connection gets one more response', async () => {
  using folder = new Folder();
  const held: (() => void)[] = [];
  await using upstream = await Upstream.start('slow', (request, response) => {
    if (request.url !== '/held') return void response.end('quick');
    response.write('first ');
    held.push(() => response.end('last'));
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  await dataplane.route('a.test', upstream.address);
  using kept = await RawClient.open(dataplane.httpPort);
  kept.socket.once('end', () => kept.socket.end());
  await kept.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').sees('quick');
  const answer = dataplane.visit('a.test', '/held');
  await until('the request to be under way', () => held.length === 1);
  await using next = successor(dataplane, folder);
  await next.said('data plane started');
  await dataplane.program.said('draining');
  assert.equal((await dataplane.visit('a.test')).text, 'quick');
  kept.received = '';
  assert.match(await kept.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').sees('quick'), /^connection: close/im);
  held[0]?.();
  assert.equal((await answer).text, 'first last');
  assert.deepEqual(await dataplane.program.exited, { code: 0, signal: null });
});

test('a successor in another network listens there, not on the sockets of the old process', {
  skip: process.platform !== 'linux',
}, async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  const args = ['dataplane', '--http-port', `${dataplane.httpPort}`, '--bind', '127.0.0.1', '--admin-listen', '127.0.0.1:6190'];
  const command = [SLUICE, ...args, '--state-dir', folder.path, '--workers', '2', '--takeover'];
  const [unshare = '', ...rest] = inOwnNetwork('ip link set lo up', command);
  await using next = new Program(unshare, rest, { SLUICE_ADMIN_TOKEN: TOKEN });
  await next.said('data plane started');
  assert.deepEqual(await dataplane.program.exited, { code: 0, signal: null });
  await assert.rejects(dataplane.visit('a.test'), { code: 'ECONNREFUSED' });
});

test('a process that has handed over exits immediately on a second SIGTERM', async () => {
  using folder = new Folder();
  let asked = false;
  await using upstream = await Upstream.start('silent', () => {
    asked = true;
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  await dataplane.route('a.test', upstream.address);
  const answer = dataplane.visit('a.test').catch((error: Error) => error);
  await until('the request to be under way', () => asked);
  await using next = successor(dataplane, folder);
  await next.said('data plane started');
  await dataplane.program.said('draining');
  dataplane.program.child.kill('SIGTERM');
  await until('it to be in a hurry', () => dataplane.program.output.split('"draining"').length > 2);
  assert.equal((await dataplane.program.kill('SIGTERM')).code, 1);
  assert.doesNotMatch(dataplane.program.stderr, /Error/);
  assert.ok((await answer) instanceof Error);
  assert.equal((await ask({ port: dataplane.adminPort }, '/health')).status, 200, 'the first one still responds');
});

/** A second data plane with the same ports and state. */
function successor({ httpPort, adminPort }: Dataplane, folder: Folder): Program {
  const ports = ['--http-port', `${httpPort}`, '--bind', '127.0.0.1', '--admin-listen', `127.0.0.1:${adminPort}`];
  const args = ['dataplane', ...ports, '--state-dir', folder.path, '--workers', '2', '--takeover'];
  return new Program(SLUICE, args, { SLUICE_ADMIN_TOKEN: TOKEN });
}
