import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { StreamLine } from '../wire/apply.ts';
import type { AdminAddress } from './admin-address.ts';
import { AdminUnreachable } from './admin-client.ts';
import { openApplyStream } from './apply-stream.ts';

async function serving(t: TestContext, listener: RequestListener): Promise<AdminAddress> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { kind: 'tcp', host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

const open = (address: AdminAddress, clock: Clock = systemClock) => openApplyStream({ address, token: 'secret', clock });

async function all(lines: AsyncIterable<StreamLine>): Promise<StreamLine[]> {
  const list: StreamLine[] = [];
  for await (const line of lines) list.push(line);
  return list;
}

const reasonOf = async (lines: AsyncIterable<StreamLine>): Promise<string> => {
  const error = await all(lines).catch((thrown: unknown) => thrown);
  return error instanceof AdminUnreachable ? error.reason : `ended with ${String(error)}`;
};

test('sends lines with the token while it receives lines, however they are split', async (t) => {
  const address = await serving(t, (request, response) => {
    assert.deepEqual([request.method, request.url, request.headers['content-type']], ['POST', '/routes', 'application/x-ndjson']);
    assert.equal(request.headers.authorization, 'Bearer secret');
    request.on('data', (chunk: Buffer) => {
      assert.equal(chunk.toString(), '{"one":1}\n');
      response.write('\n{"reload":{"i');
      setImmediate(() => response.end('d":"é"}}\n{"reload":{"id":"2"}}'));
    });
  });
  const stream = open(address);
  await stream.write('{"one":1}\n');
  assert.deepEqual(await all(stream.lines), [{ reload: { id: 'é' } }, { reload: { id: '2' } }]);
});

test('an error envelope becomes a refusal', async (t) => {
  const address = await serving(t, (_, response) => response.writeHead(503).end('{"error":"the disk is full"}'));
  assert.deepEqual(await all(open(address).lines), [{ refused: { error: '503: the disk is full', current: null } }]);
});

test('a wrong token is unauthorized', async (t) => {
  const address = await serving(t, (_, response) => response.writeHead(401).end('{"error":"unauthorized"}'));
  assert.match(await reasonOf(open(address).lines), /^unauthorized/);
});

test('a response that is not an apply stream is reported as such', async (t) => {
  const address = await serving(t, (_, response) => response.end('<html>hello</html>'));
  assert.match(await reasonOf(open(address).lines), /not with an apply stream/);
});

test('an interrupted stream ends with the reason', async (t) => {
  const address = await serving(t, (request) => request.socket.destroy());
  assert.match(await reasonOf(open(address).lines), /closed without a response/);
});

test('closing the stream ends the lines', async (t) => {
  const address = await serving(t, (_, response) => response.flushHeaders());
  const stream = open(address);
  const ended = all(stream.lines);
  stream.close();
  assert.deepEqual(await ended, []);
  await assert.rejects(stream.write('x\n'), AdminUnreachable);
});

/** A clock with settable time whose repeating tasks are run by the test. */
function pushedClock(): { clock: Clock; tick: (ms: number) => void } {
  const tasks = new Set<() => void>();
  let now = 0;
  const every = (_: number, task: () => void) => {
    tasks.add(task);
    return () => tasks.delete(task);
  };
  const tick = (ms: number) => {
    now += ms;
    for (const task of [...tasks]) task();
  };
  return { clock: { ...systemClock, monotonic: () => now, every }, tick };
}

test('blank lines keep the stream alive, and 60 s of silence end it', async (t) => {
  const blank = Promise.withResolvers<string>();
  const address = await serving(t, (request, response) => {
    response.flushHeaders();
    request.on('data', (chunk: Buffer) => blank.resolve(chunk.toString()));
  });
  const { clock, tick } = pushedClock();
  const stream = open(address, clock);
  tick(20_000);
  assert.equal(await blank.promise, '\n');
  tick(41_000);
  assert.match(await reasonOf(stream.lines), /sent nothing for 60 s/);
});
