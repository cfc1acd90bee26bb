import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { type PreflightTools, preflight, tryConnect } from './preflight.ts';

const look = (found: readonly string[], more: Partial<PreflightTools> = {}): Promise<string | null> =>
  preflight('shop.example.com', {
    clock: new ManualClock(),
    resolve: async () => found,
    tryConnect: async () => null,
    addresses: () => ['198.51.100.7'],
    httpPort: () => 80,
    ...more,
  });

describe('the hint for a name that an authority could not verify', () => {
  test('is empty if it resolves to this machine', async () => {
    assert.equal(await look(['198.51.100.7']), null);
  });

  test('says that it does not resolve', async () => {
    const words = 'shop.example.com does not resolve here; set its address record to the public address of this machine';
    assert.equal(await look([]), `${words} (198.51.100.7)`);
    assert.equal(await look([], { addresses: () => ['10.0.0.5', 'fd00::2'] }), words, 'a private address is not suggested');
  });

  test('names addresses that do not belong to this machine', async () => {
    assert.equal(
      await look(['203.0.113.9']),
      'shop.example.com resolves to 203.0.113.9, which is not an address of this machine (198.51.100.7)',
    );
    assert.match((await look(['198.51.100.7', '203.0.113.9'])) ?? '', /resolves also to 203\.0\.113\.9, which is not an address/);
  });

  test('suggests port forwarding for an address that may be translated to ours', async () => {
    assert.equal(
      await look(['203.0.113.9'], { addresses: () => ['10.0.0.5'], httpPort: () => 8080 }),
      'shop.example.com resolves to 203.0.113.9, whose port 80 has to be forwarded to port 8080 of this machine (10.0.0.5)',
    );
    assert.match((await look(['2001:db8::1'])) ?? '', /whose port 80 has to be forwarded to/, 'no address of that kind here');
  });

  test('names a port that refuses connections', async () => {
    const refused = await look(['203.0.113.9'], { tryConnect: async (address, port) => `connection refused by ${address}:${port}` });
    assert.match(refused ?? '', /; port 80 of 203\.0\.113\.9: connection refused by 203\.0\.113\.9:80$/);
  });

  test('names the port to forward if another port is served here', async () => {
    assert.match((await look(['198.51.100.7'], { httpPort: () => 8080 })) ?? '', /port 80, which has to be forwarded to port 8080/);
  });

  test('says that it could not be resolved, or not in time', async () => {
    const failing = async () => Promise.reject(Object.assign(new Error('no'), { code: 'ESERVFAIL' }));
    assert.equal(await look([], { resolve: failing }), "shop.example.com can't be resolved here (ESERVFAIL)");
    const clock = new ManualClock();
    const waiting = look([], { clock, resolve: () => new Promise(() => undefined) });
    clock.pass(3_000);
    assert.equal(await waiting, null);
  });
});

test('a wildcard is validated over DNS, so its addresses are not checked', async () => {
  const tools = { clock: new ManualClock(), tryConnect: async () => null, addresses: () => [], httpPort: () => 80 };
  assert.equal(await preflight('*.example.com', { ...tools, resolve: () => Promise.reject(new Error('asked')) }), null);
});

test('only a port that refuses connections is reported as closed', async () => {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  assert.equal(await tryConnect('127.0.0.1', port), null);
  await new Promise((resolve) => server.close(resolve));
  assert.equal(await tryConnect('127.0.0.1', port), 'connection refused');
});
