import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
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

test('tries the state directory, then the default socket, then the default port', () => {
  assert.deepEqual(likely({}), ['unix:/s/admin.sock', 'unix:/var/run/sluice-admin.sock', '127.0.0.1:6190']);
});

test('tries the data plane’s address from the environment first', () => {
  const addresses = ['unix:/r/a.sock', 'unix:/s/admin.sock', 'unix:/var/run/sluice-admin.sock', '127.0.0.1:7000'];
  assert.deepEqual(likely({ SLUICE_ADMIN_SOCKET: '/r/a.sock', SLUICE_ADMIN_LISTEN: '127.0.0.1:7000' }), addresses);
  assert.equal(likely({ SLUICE_ADMIN_SOCKET: 'true' }).length, 3);
});

test('does not use plain HTTP for a port from the environment that is open to other machines or uses TLS', () => {
  const sockets = ['unix:/s/admin.sock', 'unix:/var/run/sluice-admin.sock'];
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
    /^sluice routes: .*Tried unix:.*\/admin\.sock: no such socket; unix:\/var\/run\/sluice-admin\.sock: .*; 127\.0\.0\.1:1: connection refused.*--admin.*--state-dir PATH\n$/,
  );
});

test('a rejected token is reported with the address that was found', async (t) => {
  const listen = await admin(t, { 'GET /health': [200, {}], 'GET /routes?view=full': [401, {}] });
  const { code, err } = await sluice(['routes', '--state-dir', temporary(t)], { env: { SLUICE_ADMIN_LISTEN: listen } });
  assert.equal(code, 5);
  assert.match(err, new RegExp(`${listen}: unauthorized .set SLUICE_ADMIN_TOKEN`));
});
