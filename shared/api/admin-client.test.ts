import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type AdminAddress, formatAdminAddress, parseAdminAddress } from './admin-address.ts';
import { AdminUnreachable, createAdminClient } from './admin-client.ts';

const accepted = (text: string): AdminAddress => {
  const parsed = parseAdminAddress(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
};

const client = (address: AdminAddress, token?: string) => createAdminClient({ address, token });

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'admin-client-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

async function echo(t: TestContext, where: number | string): Promise<Server> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const { authorization, 'content-type': type } = request.headers;
      if (authorization === 'Bearer wrong') response.writeHead(401).end('{"error":"unauthorized"}');
      else response.writeHead(202).end(JSON.stringify([request.method, request.url, authorization ?? null, type ?? null, body]));
    });
  }).listen(where);
  await once(server, 'listening');
  t.after(() => void server.close());
  return server;
}

test('an address is HOST:PORT, https://HOST:PORT or unix:PATH, and is printed the same way', () => {
  for (const text of [
    '127.0.0.1:6190',
    '[::1]:6190',
    'localhost:1',
    'unix:/run/x.sock',
    'unix:x.sock',
    'https://a.test:6190',
    'https://[2001:db8::1]:1',
  ])
    assert.equal(formatAdminAddress(accepted(text)), text);
});

test('rejects an invalid address', () => {
  for (const text of [
    '',
    'localhost',
    ':6190',
    'localhost:0',
    'localhost:65536',
    'localhost:http',
    'unix:',
    'ftp://localhost:1',
    'https://',
  ])
    assert.equal(parseAdminAddress(text).ok, false, text);
});

test('rejects plain HTTP to another machine, which would send the token unencrypted, and says what to write instead', () => {
  for (const text of [
    '192.0.2.1:6190',
    'admin.test:6190',
    'http://admin.test:6190/',
    '0.0.0.0:6190',
    '[2001:db8::1]:6190',
    '127.evil.test:1',
  ]) {
    const parsed = parseAdminAddress(text);
    const bare = text.replace(/^http:\/\/|\/$/g, '');
    assert.ok(!parsed.ok && parsed.reason.includes(`unencrypted; write https://${bare}, or forward the port`), text);
  }
});

test('an address over TLS is a host and a port, and mistakes are reported', () => {
  assert.deepEqual(accepted('https://Admin.Test:6190/'), { kind: 'tls', host: 'admin.test', port: 6190, roots: null });
  for (const [text, why] of [
    ['https://admin.test', /^the port is missing: write https:\/\/admin\.test:6190$/],
    ['https://admin.test:6190/routes', /only a host and a port/],
    ['https://me:secret@admin.test:6190', /only a host and a port/],
    ['https://admin.test:0', /a port must be a number/],
    ['https://a b:1', /neither an address nor a host name/],
  ] as const) {
    const parsed = parseAdminAddress(text);
    assert.ok(!parsed.ok && why.test(parsed.reason), text);
  }
});

test('a request has the method, path, token and JSON body', async (t) => {
  const { port } = (await echo(t, 0)).address() as AddressInfo;
  const answer = await client({ kind: 'tcp', host: '127.0.0.1', port }, 's3').request('POST', '/routes?x=1', { a: 1 });
  assert.deepEqual([answer.status, JSON.parse(answer.text)], [202, ['POST', '/routes?x=1', 'Bearer s3', 'application/json', '{"a":1}']]);
});

test('a socket needs no token', async (t) => {
  const path = join(temporary(t), 'a.sock');
  await echo(t, path);
  const answer = await client({ kind: 'unix', path }).request('GET', '/health');
  assert.deepEqual(JSON.parse(answer.text), ['GET', '/health', null, null, '']);
});

async function failure(address: AdminAddress, token?: string): Promise<AdminUnreachable> {
  const error = await client(address, token)
    .request('GET', '/')
    .catch((thrown: unknown) => thrown);
  assert.ok(error instanceof AdminUnreachable);
  assert.equal(error.exitCode, 5);
  return error;
}

test('a rejected token throws AdminUnreachable, naming the variable to set', async (t) => {
  const { port } = (await echo(t, 0)).address() as AddressInfo;
  assert.match((await failure({ kind: 'tcp', host: '127.0.0.1', port }, 'wrong')).reason, /^unauthorized .*SLUICE_ADMIN_TOKEN/);
});

test('each kind of connection failure has its own message', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'plain'), '');
  const server = await echo(t, 0);
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  assert.match((await failure({ kind: 'tcp', host: '127.0.0.1', port })).message, new RegExp(`127.0.0.1:${port} .*refused`));
  assert.match((await failure({ kind: 'unix', path: join(directory, 'none') })).message, /unix:.*none .*no such socket/);
  assert.match((await failure({ kind: 'unix', path: join(directory, 'plain') })).reason, /refused|no socket/);
});
