import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Alert } from '../../shared/wire/dashboard.ts';
import { Dataplane, Folder, TOKEN } from '../testing/dataplane.ts';
import { visit } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { DATAPLANE, Program } from '../testing/process.ts';
import { RawClient } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';

test('SIGTERM lets a response in progress finish, accepts no more connections, is not delayed by idle ones, and exits with 0', async () => {
  using folder = new Folder();
  const held: (() => void)[] = [];
  await using upstream = await Upstream.start('slow', ({ url }, response) => {
    if (url === '/quick') return void response.end('quick');
    response.write('first ');
    held.push(() => response.end('last'));
  });
  // Waiting for an idle connection would take longer than any test.
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--drain-timeout', '1h'] });
  await dataplane.route('slow.test', upstream.address);
  using idle = await RawClient.open(dataplane.httpPort);
  // Closes the connection when the other side ends it, as browsers do.
  idle.socket.once('end', () => idle.socket.end());
  await idle.write('GET /quick HTTP/1.1\r\nHost: slow.test\r\n\r\n').sees('quick');
  const answer = dataplane.visit('slow.test');
  await until('the request to be under way', () => held.length === 1);
  const exit = dataplane.program.kill('SIGTERM');
  await until('new connections to be refused', () =>
    dataplane.visit('unrouted.test').then(
      () => false,
      (error: Error) => error.message.includes('ECONNREFUSED'),
    ),
  );
  held[0]?.();
  assert.equal((await answer).text, 'first last');
  assert.deepEqual(await exit, { code: 0, signal: null });
  await idle.toEnd();
});

test('SIGTERM while the process still starts lets the requests finish that it has already accepted', async () => {
  using folder = new Folder();
  const held: (() => void)[] = [];
  await using upstream = await Upstream.start('slow', (_, response) => void held.push(() => response.end('here')));
  let port: number;
  {
    await using before = await Dataplane.start({ stateDir: folder.path });
    await before.route('slow.test', upstream.address);
    port = before.httpPort;
    await before.program.kill('SIGTERM');
  }
  const flags = ['--bind', '127.0.0.1', '--http-port', `${port}`, '--admin-listen', `127.0.0.1:${await freePort()}`];
  const [node, ...entry] = DATAPLANE;
  await using program = new Program(node, [...entry, ...flags, '--state-dir', folder.path], { SLUICE_ADMIN_TOKEN: TOKEN });
  const answered = until('a response', () => visit(port, 'slow.test'));
  await until('a request to be under way', () => held.length > 0);
  const exit = program.kill('SIGTERM');
  await program.said('draining');
  for (const answer of held) answer();
  assert.equal((await answered).text, 'here');
  assert.deepEqual(await exit, { code: 0, signal: null });
});

test('a second SIGTERM exits immediately', async () => {
  using folder = new Folder();
  let asked = false;
  await using upstream = await Upstream.start('silent', () => {
    asked = true;
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  await dataplane.route('slow.test', upstream.address);
  const answer = dataplane.visit('slow.test').catch((error: Error) => error);
  await until('the request to be under way', () => asked);
  dataplane.program.child.kill('SIGTERM');
  await dataplane.program.said('draining');
  assert.equal((await dataplane.program.kill('SIGTERM')).code, 1);
  assert.ok((await answer) instanceof Error, 'the response is recognizably incomplete');
});

test('the drain begins after the shutdown delay, and a response that does not arrive is given up at the end of the drain timeout', async () => {
  using folder = new Folder();
  let asked = false;
  await using upstream = await Upstream.start('silent', () => {
    asked = true;
  });
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--shutdown-delay', '1s', '--drain-timeout', '1s'] });
  await dataplane.route('slow.test', upstream.address);
  const answer = dataplane.visit('slow.test').catch((error: Error) => error);
  await until('the request to be under way', () => asked);
  const began = performance.now();
  const exit = dataplane.program.kill('SIGTERM');
  await dataplane.program.said('"within":1000,"msg":"draining"');
  assert.ok(performance.now() - began >= 900, 'the delay is not cut short');
  assert.deepEqual(await exit, { code: 0, signal: null });
  assert.ok(performance.now() - began >= 1_900, 'the drain is not cut short');
  assert.ok((await answer) instanceof Error);
});

for (const [signal, when, ...flags] of [
  ['SIGTERM', ' after the shutdown delay', '--shutdown-delay', '1s'],
  ['SIGINT', ''],
] as const)
  test(`run drains on ${signal}${when}, too: the response arrives, both processes end, and it exits with 0`, async () => {
    using folder = new Folder();
    const held: (() => void)[] = [];
    await using upstream = await Upstream.start('slow', (_, response) => {
      response.write('first ');
      held.push(() => response.end('last'));
    });
    await using pair = await Pair.start(folder, `slow.test {\n  reverse_proxy ${upstream.address}\n}\n`, { flags });
    const answer = pair.visit('slow.test');
    await until('the request to be under way', () => held.length === 1);
    const exit = pair.program.kill(signal);
    await pair.program.said('"msg":"draining"');
    await until('new connections to be refused', () =>
      pair.visit('unrouted.test').then(
        () => false,
        (error: Error) => error.message.includes('ECONNREFUSED'),
      ),
    );
    const alert = await until('the reason', async () => {
      const alerts = JSON.parse((await pair.admin('/alerts')).text) as Alert[];
      return alerts.find(({ message }) => message.startsWith('not ready: shutting down: new connections are refused'));
    });
    assert.match(alert.action, /^It was told to stop/);
    held[0]?.();
    assert.equal((await answer).text, 'first last');
    assert.deepEqual(await exit, { code: 0, signal: null });
    assert.doesNotMatch(pair.program.output, /"level":"(?:error|fatal)"/);
  });

test('with a shutdown delay, SIGTERM first turns /ready to 503 while everything is served, and a second one ends at once', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('up');
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--shutdown-delay', '10m'] });
  await dataplane.route('a.test', upstream.address);
  dataplane.program.child.kill('SIGTERM');
  const ready = await until('/ready to be 503', async () => {
    const answer = await dataplane.admin('GET', '/ready');
    return answer.status === 503 ? answer.text : undefined;
  });
  assert.match(ready, /shutting down/);
  assert.equal((await dataplane.admin('GET', '/health')).status, 200);
  assert.equal((await dataplane.visit('a.test')).status, 200);
  await dataplane.route('b.test', upstream.address);
  assert.equal((await dataplane.visit('b.test')).status, 200);
  assert.equal((await dataplane.program.kill('SIGTERM')).code, 1);
});

test('during the shutdown delay of run, the controller goes on', async () => {
  using folder = new Folder();
  const site = (word: string) => `site.test {\n  respond "${word}"\n}\n`;
  await using pair = await Pair.start(folder, site('first'), { flags: ['--shutdown-delay', '10m'] });
  pair.program.child.kill('SIGTERM');
  await until('/ready to be 503', async () => (await pair.admin('/ready')).status === 503);
  pair.write(site('second'));
  await until('the change to be served', async () => (await pair.visit('site.test')).text === 'second');
  assert.equal((await pair.program.kill('SIGTERM')).code, 1);
});
