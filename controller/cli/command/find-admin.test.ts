import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { formatAdminAddress } from '../../../shared/api/admin-address.ts';
import { admin, sluice, temporary } from '../testing/run-command.ts';
import { likelyAddresses } from './find-admin.ts';

const likely = (env: Record<string, string>) => likelyAddresses('/s', env).map(formatAdminAddress);

/** An Admin API on a socket, without routes. */
async function onSocket(t: TestContext, path: string): Promise<void> {
  const server = createServer((_, response) => void response.end('[]')).listen(path);
  await once(server, 'listening');
  t.after(() => void server.close());
}

test('tries the state directory, then the socket of the systemd units, then the default socket and port', () => {
  assert.deepEqual(likely({}), ['unix:/s/admin.sock', 'unix:/run/sluice/admin.sock', 'unix:/var/run/sluice-admin.sock', '127.0.0.1:6190']);
});

test('tries the data plane’s address from the environment first', () => {
  const addresses = [
    'unix:/r/a.sock',
    'unix:/s/admin.sock',
    'unix:/run/sluice/admin.sock',
    'unix:/var/run/sluice-admin.sock',
    '127.0.0.1:7000',
  ];
  assert.deepEqual(likely({ SLUICE_ADMIN_SOCKET: '/r/a.sock', SLUICE_ADMIN_LISTEN: '127.0.0.1:7000' }), addresses);
  assert.equal(likely({ SLUICE_ADMIN_SOCKET: 'true' }).length, 4);
});

test('commands find the data plane of the systemd units', () => {
  const unit = readFileSync(new URL('../../../deploy/systemd/sluice-dataplane.service', import.meta.url), 'utf8');
  const socket = /^ExecStart=.* --admin-socket (\S+)$/m.exec(unit)?.[1] ?? 'none';
  assert.ok(likely({}).includes(`unix:${socket}`), socket);
});

test('does not use plain HTTP for a port from the environment that is open to other machines or uses TLS', () => {
  const sockets = ['unix:/s/admin.sock', 'unix:/run/sluice/admin.sock', 'unix:/var/run/sluice-admin.sock'];
  assert.deepEqual(likely({ SLUICE_ADMIN_LISTEN: '0.0.0.0:6190' }), sockets);
  assert.deepEqual(likely({ SLUICE_ADMIN_TLS_CERT: '/c.pem' }), sockets);
});

test('a command finds the socket that run opened in the state directory, by flag or environment', async (t) => {
  const directory = temporary(t);
  await onSocket(t, join(directory, 'admin.sock'));
  assert.deepEqual([(await sluice(['routes', '--json', '--state-dir', directory])).out], ['[]\n']);
  assert.deepEqual([(await sluice(['routes', '--json'], { env: { SLUICE_STATE_DIR: directory } })).out], ['[]\n']);
});

test('skips a stale socket', async (t) => {
  const directory = temporary(t);
  const listen = await admin(t, { 'GET /health': [200, {}], 'GET /routes?view=full': [200, []] });
  const env = { SLUICE_ADMIN_SOCKET: join(directory, 'gone.sock'), SLUICE_ADMIN_LISTEN: listen };
  assert.equal((await sluice(['routes', '--json', '--state-dir', directory], { env })).out, '[]\n');
});

test('if nothing responds, one line lists what was tried and how to specify the address', async (t) => {
  const directory = temporary(t);
  const { code, err } = await sluice(['routes', '--state-dir', directory], { env: { SLUICE_ADMIN_LISTEN: '127.0.0.1:1' } });
  assert.equal(code, 5);
  assert.match(
    err,
    /^sluice routes: .*Tried unix:.*\/admin\.sock: no such socket; unix:\/run\/sluice\/admin\.sock: .*; unix:\/var\/run\/sluice-admin\.sock: .*; 127\.0\.0\.1:1: connection refused.*--admin.*--state-dir PATH\n$/,
  );
});

test('a data plane that hangs is reported after some seconds, as what it is, and no other address is tried', async (t) => {
  const directory = temporary(t);
  const server = createTcpServer(() => undefined).listen(join(directory, 'admin.sock'));
  await once(server, 'listening');
  t.after(() => void server.close());
  const listen = await admin(t, { 'GET /health': [200, {}], 'GET /routes?view=full': [200, []] });
  const { code, out, err } = await sluice(['routes', '--state-dir', directory], { env: { SLUICE_ADMIN_LISTEN: listen } });
  assert.deepEqual([code, out], [5, '']);
  assert.match(err, /^sluice routes: the Admin API at unix:.*\/admin\.sock cannot be used: it does not answer: it hangs, .*\n$/);
});

test('a named state directory with which nothing runs leads to no other data plane', async (t) => {
  const directory = temporary(t);
  const ask = async (env: Record<string, string> = {}) => (await sluice(['status', '--state-dir', directory], { env })).err;
  const other = `not asked, as it may belong to another state directory than ${directory}`;
  const err = await ask();
  for (const address of ['unix:/run/sluice/admin.sock', 'unix:/var/run/sluice-admin.sock', '127.0.0.1:6190'])
    assert.ok(err.includes(`${address}: ${other}`), err);
  // The environment says that the data plane is there.
  assert.match(await ask({ SLUICE_ADMIN_LISTEN: '127.0.0.1:1' }), /127\.0\.0\.1:1: connection refused/);
  // That is no statement about other addresses.
  assert.ok((await ask({ SLUICE_ADMIN_SOCKET: '/gone/admin.sock' })).includes(`unix:/run/sluice/admin.sock: ${other}`));
  // A data plane may have other addresses.
  const takeover = createTcpServer().listen(join(directory, 'takeover.sock'));
  await once(takeover, 'listening');
  t.after(() => void takeover.close());
  assert.doesNotMatch(await ask(), /not asked/);
});

test('a state directory on the command line counts more than an address in the environment', async (t) => {
  const other = await admin(t, { 'GET /health': [200, {}], 'GET /routes?view=full': [200, []] });
  const env = { SLUICE_ADMIN: other };
  assert.equal((await sluice(['routes'], { env })).code, 0);
  const { code, err } = await sluice(['routes', '--state-dir', temporary(t)], { env });
  assert.equal(code, 5);
  assert.ok(!err.includes(other), err);
  assert.equal((await sluice(['routes', '--state-dir', temporary(t), '--admin', other], { env })).code, 0);
});

test('a rejected token is reported with the address that was found', async (t) => {
  const listen = await admin(t, { 'GET /health': [200, {}], 'GET /routes?view=full': [401, { error: 'unauthorized' }] });
  const { code, err } = await sluice(['routes', '--state-dir', temporary(t)], { env: { SLUICE_ADMIN_LISTEN: listen } });
  assert.equal(code, 5);
  assert.match(err, new RegExp(`${listen}: unauthorized .set SLUICE_ADMIN_TOKEN`));
});

/** A server that responds to the first bytes of each connection. @returns its address. */
async function responding(t: TestContext, response: string | Buffer): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const [what, response, reason] of [
  [
    'a port with TLS whose server says so',
    'HTTP/1.1 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.',
    /serves HTTPS/,
  ],
  ['a port with TLS whose server sends an alert', Buffer.from([21, 3, 1, 0, 2, 2, 70]), /serves HTTPS: write https:\/\/HOST:PORT/],
  ['a port with TLS whose server closes the connection', '', /closed without a response \(if the port serves HTTPS, write https:/],
  ['a server of another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', /does not speak HTTP/],
  ['a page that does not exist', 'HTTP/1.1 404 Not Found\r\n\r\n<title>Oh no</title>', /another program answers there, with 404 \(Oh no\)/],
  ['another program’s log-in', 'HTTP/1.1 401 Unauthorized\r\n\r\nnope', /another program answers there, with 401 \(nope\)/],
  ['another program’s page', 'HTTP/1.1 200 OK\r\n\r\n<title>Hello</title>', /not the Admin API of a data plane/],
  ['another program’s JSON', 'HTTP/1.1 200 OK\r\n\r\n{"name":"search"}', /not the Admin API of a data plane/],
  ['a controller', 'HTTP/1.1 404 Not Found\r\n\r\n{"error":"not found"}', /another program, or a controller/],
] as const)
  test(`${what} at the address is reported as what it is, with exit code 5`, async (t) => {
    const address = await responding(t, response);
    for (const command of [['status'], ['routes'], ['explain', 'a.test'], ['reload']]) {
      const { code, out, err } = await sluice([...command, '--admin', address]);
      assert.deepEqual([code, out, err.split('\n').length], [5, '', 2], err);
      assert.match(err, new RegExp(`^sluice ${command[0]}: the Admin API at ${address} cannot be used: `));
      assert.match(err, reason);
    }
  });
