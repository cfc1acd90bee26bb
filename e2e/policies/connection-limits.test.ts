import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';

const SITE = 'site.test {\n  respond "here"\n}\n';
const GET = 'GET / HTTP/1.1\r\nHost: site.test\r\n\r\n';

/** Sends a request on each of `count` concurrent connections from a local address. @returns those that got a response, still open. */
async function visitors(port: number, count: number, localAddress: string): Promise<Socket[]> {
  const answered: Socket[] = [];
  await Promise.all(
    Array.from({ length: count }, () => {
      const socket = connect({ host: '127.0.0.1', port, localAddress });
      socket.on('error', () => socket.destroy());
      socket.write(GET);
      return new Promise<void>((resolve) => {
        socket.once('close', resolve);
        socket.once('data', () => {
          answered.push(socket);
          resolve();
        });
      });
    }),
  );
  return answered;
}

test('connection limits are exact over all workers, set by the file, and applied immediately when it changes', async () => {
  using folder = new Folder();
  const [port, probe] = [await freePort(), await freePort()];
  const globals = (all: number, each: number) =>
    `{\n  http_port ${port}\n  bind 127.0.0.1\n  max_connections ${all}\n  max_connections_per_address ${each}\n}\n`;
  await using pair = await Pair.start(folder, SITE, {
    globals: globals(30, 20),
    flags: ['--probe-listen', `127.0.0.1:${probe}`, '--workers', '4'],
  });
  const metric = async (name: string): Promise<number> => {
    const { text } = await ask({ port: probe }, '/metrics');
    const line = text.split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1));
  };

  const first = await visitors(port, 50, '127.0.0.1');
  assert.equal(first.length, 20, 'the first 20 connections of the address stay open');
  assert.equal((await visitors(port, 50, '127.0.0.2')).length, 10, 'ten more fill the limit of all addresses together');
  assert.equal(await metric('sluice_connections_open'), 30);
  assert.equal(await metric('sluice_connections_refused_total{reason="address_limit"}'), 30);
  assert.equal(await metric('sluice_connections_refused_total{reason="limit"}'), 40);

  for (const socket of first) socket.destroy();
  await until('room for others', async () => (await metric('sluice_connections_open')) === 10);
  assert.equal((await visitors(port, 50, '127.0.0.3')).length, 20);

  writeFileSync(pair.file, globals(45, 20) + SITE);
  const settings = async (): Promise<{ name: string; value: unknown; origin: string }[]> =>
    JSON.parse((await pair.admin('/settings')).text);
  const all = await until('the new limit', async () =>
    (await settings()).find(({ name, value }) => name === 'max_connections' && value === 45),
  );
  assert.equal(all.origin, 'file');
  assert.equal((await visitors(port, 50, '127.0.0.4')).length, 15);
});
