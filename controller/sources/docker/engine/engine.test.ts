import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../../shared/runtime/clock.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { fakeId } from '../testing/fake-container.ts';
import { FakeEngine } from '../testing/fake-engine.ts';
import { ANSWER_MS, createEngine, negotiatedVersion } from './engine.ts';
import type { EngineAddress } from './engine-address.ts';
import type { EngineEvent } from './engine-event.ts';
import { EngineFailure } from './engine-failure.ts';

async function running(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'engine-'));
  const path = join(directory, 'docker.sock');
  const engine = new FakeEngine();
  await engine.listen(path);
  t.after(async () => {
    await engine.stop();
    rmSync(directory, { recursive: true });
  });
  return { engine, path, address: { kind: 'unix', path } as const };
}

const opened = (address: EngineAddress) => createEngine(address, systemClock).open();

test('sends only read requests, each with the negotiated version', async (t) => {
  const { engine, address } = await running(t);
  engine.apiVersion = '1.41';
  engine.run({ id: fakeId(1), labels: { 'sluice.domain': 'a.example' } });
  const session = await opened(address);
  t.after(() => session.close());
  await session.follow(
    1,
    () => undefined,
    () => undefined,
  );
  const [listed] = await session.list();
  assert.deepEqual([listed?.id, listed?.networks[0]?.addresses], [fakeId(1), ['172.18.0.2']]);
  assert.equal((await session.inspect(fakeId(1)))?.State.Status, 'running');
  assert.equal(await session.inspect(fakeId(2)), undefined);
  assert.deepEqual(engine.asked, [
    'GET /version',
    'GET /v1.41/events',
    'GET /v1.41/containers/json',
    `GET /v1.41/containers/${fakeId(1)}/json`,
    `GET /v1.41/containers/${fakeId(2)}/json`,
  ]);
});

test('uses the lower of the two versions, or the engine’s oldest if it no longer supports ours', () => {
  const agree = (ApiVersion: string, MinAPIVersion?: string) =>
    negotiatedVersion({ kind: 'unix', path: '/s' }, { ApiVersion, MinAPIVersion });
  assert.deepEqual([agree('1.40'), agree('1.51', '1.44'), agree('1.60', '1.44'), agree('1.70', '1.60')], ['1.40', '1.51', '1.51', '1.60']);
  assert.throws(() => agree('1.20'), /speaks API 1\.20; 1\.24 or newer is needed/);
  assert.throws(() => agree('none'), /is not a container engine/);
});

test('reports events since a given time, then new ones, and the end of the stream once', async (t) => {
  const { engine, address } = await running(t);
  engine.run({ id: fakeId(1) });
  const session = await opened(address);
  t.after(() => session.close());
  const heard: EngineEvent[] = [];
  const more = Promise.withResolvers<void>();
  const over = Promise.withResolvers<EngineFailure>();
  const hear = (event: EngineEvent) => {
    heard.push(event);
    if (event.action === 'kill') more.resolve();
  };
  await session.follow(1, hear, over.resolve);
  engine.emit('exec_start: sh', fakeId(1));
  engine.emit('health_status: healthy', fakeId(1));
  engine.kill(fakeId(1), '15');
  await more.promise;
  assert.deepEqual(
    heard.map(({ action, signal }) => [action, signal]),
    [
      ['create', undefined],
      ['start', undefined],
      ['health_status', undefined],
      ['kill', '15'],
    ],
  );
  engine.cutStreams();
  assert.match((await over.promise).message, /could not stream its events: (?:aborted|the stream was closed)/);
});

test('queries an engine over TCP in the same way, regardless of DOCKER_HOST', async (t) => {
  const server = createServer((_, response) => response.end(JSON.stringify({ ApiVersion: '1.41' })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const before = process.env.DOCKER_HOST;
  process.env.DOCKER_HOST = 'unix:///nowhere.sock';
  t.after(() => {
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
  });
  const { port } = server.address() as { port: number };
  (await opened({ kind: 'tcp', host: '127.0.0.1', port })).close();
});

test('each failure of the engine is reported in one helpful line', async (t) => {
  const { engine, path, address } = await running(t);
  const failure = (at: EngineAddress) =>
    opened(at).then(
      () => assert.fail('it answered'),
      (error: unknown) => {
        assert.ok(error instanceof EngineFailure);
        return error.message;
      },
    );
  assert.match(await failure({ kind: 'unix', path: `${path}x` }), /^no container engine at .*sockx: there is no such socket; /);
  writeFileSync(`${path}.file`, '');
  assert.match(await failure({ kind: 'unix', path: `${path}.file` }), /is not a socket/);
  engine.intercept = (_, response) => {
    response.writeHead(403).end('forbidden');
    return true;
  };
  assert.match(await failure(address), /refuses to report its version \(403\); a socket proxy has to allow containers, events and version/);
});

test('a redirect is a failure and not followed, wherever it leads', async (t) => {
  const { engine, address } = await running(t);
  for (const location of ['https://127.0.0.1:1/', 'unix:/nowhere', 'ftp://127.0.0.1/', '/elsewhere']) {
    engine.intercept = (_, response) => {
      response.writeHead(301, { location }).end();
      return true;
    };
    await assert.rejects(opened(address), /redirects the request to report its version, as no container engine does/);
  }
  assert.equal(engine.count(/elsewhere/), 0);
});

test('an engine that does not respond in time counts as failed', async (t) => {
  const { engine, address } = await running(t);
  const asked = Promise.withResolvers<void>();
  engine.intercept = () => {
    asked.resolve();
    return true;
  };
  const clock = new ManualClock();
  const opening = createEngine(address, clock).open();
  await asked.promise;
  clock.pass(ANSWER_MS);
  await assert.rejects(opening, /could not report its version: no response within 10 s/);
});

test('an invalid list is a failure, not an empty list', async (t) => {
  const { engine, address } = await running(t);
  const session = await opened(address);
  t.after(() => session.close());
  engine.intercept = (_, response) => {
    response.end('[{"Id":"');
    return true;
  };
  await assert.rejects(session.list(), /could not list containers: the response was truncated/);
  await assert.rejects(session.inspect(fakeId(1)), /could not inspect a container: the response was truncated/);
});

test('the system checks that a remote engine is still there while its stream of events is silent', async (t) => {
  const { path } = await running(t);
  const server = createTcpServer((incoming) => {
    const outgoing = connect(path);
    incoming.pipe(outgoing).pipe(incoming);
    incoming.once('error', () => outgoing.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const session = await opened({ kind: 'tcp', host: '127.0.0.1', port });
  t.after(() => session.close());
  await session.follow(
    null,
    () => undefined,
    () => undefined,
  );
  // proc_net_tcp.txt: the remote address, the state (01 is established) and the pending timer (02 is that of keepalive).
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const isChecked = () => new RegExp(`:${hexPort} 01 \\S+ 02:`).test(readFileSync('/proc/net/tcp', 'latin1'));
  while (!isChecked()) await wait(5);
});
