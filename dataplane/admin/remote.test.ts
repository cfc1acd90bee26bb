import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { AdminAddress } from '../../shared/api/admin-address.ts';
import { AdminUnreachable, createAdminClient } from '../../shared/api/admin-client.ts';
import { openApplyStream } from '../../shared/api/apply-stream.ts';
import { makeChain, makePair } from '../../shared/certificates/testing/pairs.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import type { StreamLine } from '../../shared/wire/apply.ts';
import { OwnCertificate } from './own-certificate.ts';
import { RunningAdmin, TOKEN } from './testing/running-admin.ts';
import { frame, route } from './testing/stream-client.ts';

const DAY_MS = 86_400_000;

/** An Admin API over TLS on loopback with a certificate for these names, and clients for it. */
async function remote(t: TestContext, names = ['localhost', '127.0.0.1', 'admin.test']) {
  const api = await RunningAdmin.start();
  t.after(() => api[Symbol.asyncDispose]());
  const folder = mkdtempSync(join(tmpdir(), 'remote-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const paths = { certificate: join(folder, 'c.pem'), privateKey: join(folder, 'k.pem') };
  const { root, middle, leaf } = await makeChain(names);
  writeFileSync(paths.certificate, leaf.certificate + middle.certificate);
  writeFileSync(paths.privateKey, leaf.privateKey);
  const read = OwnCertificate.read(paths, { clock: api.clock, log: api.log });
  assert.ok(read.ok, read.ok ? '' : read.reason);
  const certificate = read.value;
  certificate.watch();
  t.after(() => certificate.stop());
  const { port } = await api.admin.listenTcp('127.0.0.1', 0, certificate);
  const roots = { path: 'ca.pem', pem: root.certificate };
  const address: AdminAddress = { kind: 'tls', host: 'localhost', port, roots };
  const raw = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').on('error', () => socket.destroy());
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  const secure = async (more: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'admin.test', ca: roots.pem, ...more });
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  return { api, paths, middle, port, address, raw, secure };
}

const getRoutes = (address: AdminAddress, token: string | undefined = TOKEN) =>
  createAdminClient({ address, token }).request('GET', '/routes');

async function reasonFor(address: AdminAddress, token?: string): Promise<string> {
  const failure = await getRoutes(address, token).catch((error: unknown) => error);
  assert.ok(failure instanceof AdminUnreachable, String(failure));
  return failure.message;
}

/** Everything received until the other side closes the connection. */
async function restOf(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  if (!socket.closed) await once(socket, 'close');
  return text;
}

const textOf = async (socket: TLSSocket, request: string): Promise<string> => {
  socket.write(request);
  return restOf(socket);
};

test('the Admin API over TLS serves a client that verifies it and has the token, by name and by address', async (t) => {
  const { address } = await remote(t);
  for (const host of ['localhost', '127.0.0.1']) assert.equal((await getRoutes({ ...address, host } as AdminAddress)).status, 200, host);
});

test('every reason why a client cannot trust or reach it has its own message', async (t) => {
  const { address, port, api } = await remote(t, ['admin.test', '192.0.2.1']);
  const over = (more: object) => ({ ...address, ...more }) as AdminAddress;
  assert.match(
    await reasonFor(address),
    new RegExp(
      `^the Admin API at https://localhost:${port} cannot be used: its certificate is for admin\\.test, 192\\.0\\.2\\.1, not for localhost; use a name`,
    ),
  );
  assert.match(
    await reasonFor(over({ roots: null })),
    /not from an authority that is trusted here; pass the authority's root with --dataplane-ca PATH$/,
  );
  const { certificate: pem } = await makePair([], { authority: true, subject: 'CN=Another' });
  assert.match(
    await reasonFor(over({ roots: { path: '/other.pem', pem } })),
    /not from an authority in \/other\.pem; pass the root that issued it/,
  );
  assert.match(await reasonFor(over({ host: '127.0.0.1', port: api.port })), /the server there does not use TLS; is it the Admin API/);
});

test('clients reject an expired and a self-signed certificate with a clear message', async (t) => {
  const { address, paths, api } = await remote(t);
  const show = async (notAfter: number) => {
    const self = await makePair(['localhost'], { notBefore: api.clock.now() - DAY_MS, notAfter });
    writeFileSync(paths.certificate, self.certificate);
    writeFileSync(paths.privateKey, self.privateKey);
    api.clock.pass(60_000);
    return { path: 'self.pem', pem: self.certificate };
  };
  const over = await show(api.clock.now() + DAY_MS);
  assert.match(
    await reasonFor({ ...address, roots: over } as AdminAddress),
    /expired, or the clock of this machine is wrong; renew the file given there with --admin-tls-cert$/,
  );
  const good = await show(Date.now() + DAY_MS);
  assert.match(await reasonFor(address), /self-signed and not the one in ca\.pem; pass that certificate with --dataplane-ca PATH$/);
  assert.equal((await getRoutes({ ...address, roots: good } as AdminAddress)).status, 200);
});

test('verification cannot be disabled through the environment', async (t) => {
  const { address } = await remote(t, ['admin.test']);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });
  assert.match(await reasonFor(address), /not for localhost/);
});

test('a missing or wrong token is answered with 401', async (t) => {
  const { address } = await remote(t);
  for (const token of ['', 'wrong']) assert.match(await reasonFor(address, token), /unauthorized \(set SLUICE_ADMIN_TOKEN/);
});

test('a Host that the certificate does not cover, even localhost, is answered with 403 before the token is checked', async (t) => {
  const { secure } = await remote(t, ['admin.test', '192.0.2.1']);
  const status = async (host: string, more = '') => {
    const text = await textOf(
      await secure(),
      `GET /routes HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n${more}\r\n`,
    );
    return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
  };
  for (const host of ['admin.test', 'ADMIN.test:6190', '192.0.2.1:6190']) assert.equal(await status(host), 200, host);
  for (const host of ['localhost', '127.0.0.1', 'rebound.example', 'sluice']) assert.equal(await status(host), 403, host);
  assert.equal(await status('admin.test', 'Sec-Fetch-Site: cross-site\r\n'), 403);
  assert.equal(await status('admin.test', 'Origin: https://evil.example\r\n'), 403);
});

test('TLS below 1.2 is refused, and HTTP/2 is not offered', async (t) => {
  const { secure } = await remote(t);
  await assert.rejects(secure({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }), /protocol|version/i);
  assert.equal((await secure({ maxVersion: 'TLSv1.2' })).getProtocol(), 'TLSv1.2');
  assert.equal((await secure({ ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol, 'http/1.1');
});

test('plain HTTP, even an upload of any size, is answered with a hint to use https, and never reaches the API', async (t) => {
  const { api, raw } = await remote(t);
  for (const filler of ['', 'x'.repeat(8_000_000)]) {
    const socket = await raw();
    const body = JSON.stringify({ domain: 'a.test', upstream: '127.0.0.1:1', tls: false, filler });
    socket.write(
      `POST /routes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const answer = /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*\r\n\r\n\{"error":"this port speaks HTTPS only: write https:\/\/"\}$/;
    assert.match(await restOf(socket), answer);
  }
  assert.equal(api.table.list().length, 0);
});

test('another protocol, an incomplete handshake and a corrupt one end their connection, and others are served', async (t) => {
  const { raw, address } = await remote(t);
  for (const bytes of [Buffer.from([0, 1, 2, 3]), Buffer.from('SSH\x00'.toLowerCase()), Buffer.from([22, 3, 1, 0, 4, 9, 9, 9, 9])]) {
    const socket = await raw();
    socket.write(bytes);
    await restOf(socket);
  }
  const torn = await raw();
  torn.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  torn.resetAndDestroy();
  assert.equal((await getRoutes(address)).status, 200);
});

test('silent connections and stalled handshakes are closed after ten seconds', async (t) => {
  const { api, raw } = await remote(t);
  const silent = await raw();
  const half = await raw();
  half.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  const accepted = await Promise.all([silent, half].map((socket) => once(socket.resume(), 'close').then(() => true)).concat(passing(api)));
  assert.equal(accepted[0], true);
});

/** Advances the clock until both have been closed, because the test cannot know when a byte arrives. */
async function passing(api: RunningAdmin): Promise<boolean> {
  for (let seconds = 0; seconds < 40; seconds++) {
    api.clock.pass(1_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}

test('silent connections and stalled handshakes are closed to make room for a client with the token', async (t) => {
  const { address, raw } = await remote(t);
  const strangers = await Promise.all(Array.from({ length: 520 }, raw));
  for (const [at, socket] of strangers.entries()) if (at % 2) socket.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  assert.equal((await getRoutes(address)).status, 200);
  for (const socket of strangers) socket.destroy();
});

test('an apply stream works over TLS: frames, results, reports to the controller, and the end', async (t) => {
  const { api, address } = await remote(t);
  const stream = openApplyStream({ address, token: TOKEN, clock: systemClock });
  const lines = stream.lines[Symbol.asyncIterator]();
  const next = async (): Promise<StreamLine> => {
    const { value, done } = await lines.next();
    assert.ok(!done);
    return value;
  };
  await stream.write(frame(1, route('a.test')));
  assert.ok('applied' in (await next()));
  assert.equal((await api.request('DELETE', '/routes/a.test')).status, 200);
  const told = await next();
  assert.deepEqual('routes' in told && told.routes.domain, 'a.test');
  const large = Array.from({ length: 3_000 }, (_, at) => route(`site-${at}.test`));
  await stream.write(frame(2, ...large));
  const applied = await next();
  assert.equal('applied' in applied && applied.applied.results.length, 3_000);
  stream.close();
  assert.equal((await lines.next()).done, true);
});

test('a rejected apply stream reports why', async (t) => {
  const { address } = await remote(t, ['admin.test']);
  const stream = openApplyStream({ address, token: TOKEN, clock: systemClock });
  await assert.rejects(
    stream.lines[Symbol.asyncIterator]().next(),
    (error) => error instanceof AdminUnreachable && /not for localhost/.test(error.reason),
  );
});

test('the next connection gets a renewed certificate, while open streams continue', async (t) => {
  const { api, address, paths, middle, secure } = await remote(t);
  const open = await secure();
  open.write(`GET /events HTTP/1.1\r\nHost: admin.test\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  await once(open, 'data');
  const serial = (socket: TLSSocket) => socket.getPeerCertificate().serialNumber;
  const fresh = await makePair(['localhost', 'admin.test'], {
    signer: middle.signs,
    notBefore: api.clock.now() - 1_000,
    notAfter: Date.now() + DAY_MS,
  });
  writeFileSync(paths.certificate, fresh.certificate + middle.certificate);
  writeFileSync(paths.privateKey, fresh.privateKey);
  api.clock.pass(60_000);
  assert.notEqual(serial(await secure()), serial(open));
  assert.equal((await getRoutes(address)).status, 200);
  api.events.emit({ kind: 'reload', ok: true, errors: [] });
  assert.match(String((await once(open, 'data'))[0]), /event: reload/);
});

test('closing ends every connection, in any state', async (t) => {
  const { api, raw, secure } = await remote(t);
  const silent = await raw();
  const half = await raw();
  half.write(Buffer.from([22, 3, 1, 2, 0, 1]));
  const events = await secure();
  events.write(`GET /events HTTP/1.1\r\nHost: admin.test\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  await once(events, 'data');
  const ended = Promise.all([silent, half, events].map((socket) => once(socket.resume(), 'close')));
  await api.admin.close();
  await ended;
});
