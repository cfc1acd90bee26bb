import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../shared/runtime/flags.ts';
import { requireTlsForOthers, requireTokenForOthers, requireViewToken } from './remote-admin.ts';
import { dataplaneHelp, readSettings } from './settings.ts';

const PAIR = ['--admin-tls-cert', '/c.pem', '--admin-tls-key', '/k.pem'];

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof UsageError && !error.message.includes('\n'), String(error));
    return error.message;
  }
  throw new assert.AssertionError({ message: 'it was accepted' });
}

const usage = (...argv: string[]): string => refusal(() => readSettings(argv, {}));

test('a non-loopback address is rejected, with the flags to set, until it is allowed', () => {
  for (const address of ['0.0.0.0:6190', '[::]:6190', '192.0.2.1:6190', 'admin.example:6190', '127.evil.example:6190'])
    assert.match(
      usage('--admin-listen', address),
      /^sluice dataplane: --admin-listen \S+ lets other machines reach .* add --admin-allow-remote --admin-tls-cert PATH --admin-tls-key PATH, otherwise use a loopback address/,
    );
  assert.match(usage('--admin-listen', '0.0.0.0:6190', ...PAIR), /add --admin-allow-remote, otherwise/);
  assert.equal(readSettings(['--admin-listen', '0.0.0.0:6190', '--admin-allow-remote', ...PAIR], {}).adminListen, '0.0.0.0:6190');
});

test('remote access needs both a certificate and its key', () => {
  assert.match(usage('--admin-allow-remote'), /--admin-allow-remote needs a certificate: --admin-tls-cert PATH --admin-tls-key PATH$/);
  assert.match(usage('--admin-tls-cert', '/c.pem'), /--admin-tls-cert needs --admin-tls-key PATH/);
  assert.match(usage('--admin-tls-key', '/k.pem'), /--admin-tls-key needs --admin-tls-cert PATH/);
});

test('environment variables work like flags', () => {
  const env = {
    SLUICE_ADMIN_LISTEN: '0.0.0.0:6190',
    SLUICE_ADMIN_ALLOW_REMOTE: '1',
    SLUICE_ADMIN_TLS_CERT: '/c.pem',
    SLUICE_ADMIN_TLS_KEY: '/k.pem',
  };
  const { adminAllowRemote, adminTlsCert, adminTlsKey, origins } = readSettings([], env);
  assert.deepEqual([adminAllowRemote, adminTlsCert, adminTlsKey, origins.adminTlsCert], [true, '/c.pem', '/k.pem', 'environment']);
});

test('a loopback address can use TLS, too', () => requireTlsForOthers(readSettings(PAIR, {})));

test('remote access needs a token that cannot be guessed', () => {
  const remote = readSettings(['--admin-allow-remote', ...PAIR], {});
  for (const [token, why] of [
    [undefined, 'is not set'],
    ['', 'is not set'],
    ['admin', 'is shorter than 16 characters'],
  ] as const)
    assert.match(
      refusal(() => requireTokenForOthers(remote, token)),
      new RegExp(`^sluice dataplane: --admin-allow-remote needs a token, and SLUICE_ADMIN_TOKEN ${why}; .*openssl rand -hex 32$`),
    );
  requireTokenForOthers(remote, '0123456789abcdef');
  requireTokenForOthers(readSettings([], {}), undefined);
});

test('--help is printed regardless of the other arguments', () => {
  assert.equal(readSettings(['--admin-listen', '0.0.0.0:1', '--help'], {}).help, true);
  assert.match(dataplaneHelp(), /--admin-allow-remote .*SLUICE_ADMIN_ALLOW_REMOTE/);
});

test('a view token differs from the other token and, where other machines may try, is long', () => {
  const local = readSettings([], {});
  const remote = readSettings(
    ['--admin-listen', '0.0.0.0:1', '--admin-allow-remote', '--admin-tls-cert', '/c', '--admin-tls-key', '/k'],
    {},
  );
  requireViewToken(local, { token: 'one', viewToken: 'two' });
  requireViewToken(local, { token: 'one', viewToken: undefined });
  requireViewToken(remote, { token: 'one', viewToken: '0123456789abcdef' });
  assert.throws(() => requireViewToken(local, { token: 'one', viewToken: 'one' }), /is the same as SLUICE_ADMIN_TOKEN/);
  assert.throws(() => requireViewToken(remote, { token: 'one', viewToken: 'two' }), /is shorter than 16 characters/);
});
