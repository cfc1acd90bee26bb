import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../../shared/runtime/flags.ts';
import { CONTROLLER_FLAGS } from '../../flags.ts';
import { splitArguments } from './run-arguments.ts';

const split = (argv: string[], env: Record<string, string> = {}) => splitArguments(CONTROLLER_FLAGS, argv, env);

test('passes controller flags to the controller, shared ones to both and all others to the data plane', () => {
  const { controller, dataplane } = split([
    '--config',
    'x',
    '--http-port',
    '80',
    '--no-metrics',
    '--log-level=warn',
    '--admin-socket',
    '/s',
    '--listen=127.0.0.1:1',
  ]);
  assert.deepEqual(controller, ['--config', 'x', '--log-level=warn', '--listen=127.0.0.1:1', '--dataplane', 'unix:/s']);
  assert.deepEqual(dataplane, ['--http-port', '80', '--no-metrics', '--log-level=warn', '--admin-socket', '/s']);
});

test('uses a socket in the state directory by default, and passes it to both', () => {
  const { controller, dataplane, adminSocket } = split(['--state-dir', '/var/s']);
  assert.equal(adminSocket, '/var/s/admin.sock');
  assert.deepEqual(dataplane, ['--state-dir', '/var/s', '--admin-socket', '/var/s/admin.sock']);
  assert.deepEqual(controller, ['--dataplane', 'unix:/var/s/admin.sock']);
});

test('reads the state directory and the socket from the environment; a flag takes precedence', () => {
  assert.equal(split([], { SLUICE_STATE_DIR: '/e' }).adminSocket, '/e/admin.sock');
  assert.equal(split(['--state-dir=/f'], { SLUICE_STATE_DIR: '/e' }).adminSocket, '/f/admin.sock');
  assert.equal(split([], { SLUICE_ADMIN_SOCKET: '/e.sock' }).adminSocket, '/e.sock');
});

test('a socket flag without a path means the default path', () => {
  const socket = '/var/run/sluice-admin.sock';
  assert.equal(split(['--admin-socket', '--http-port', '80']).adminSocket, socket);
  assert.equal(split([], { SLUICE_ADMIN_SOCKET: '1' }).adminSocket, socket);
});

test('without arguments uses the machine’s default state directory', () => {
  assert.equal(split([]).adminSocket, '/var/lib/sluice/admin.sock');
});

test('rejects an argument before the first flag', () => {
  assert.throws(() => split(['start', '--config', 'x']), new UsageError('sluice run: name the config file with --config start'));
});

test('an argument with a single hyphen before the first flag is an unknown flag, not the name of a file', () => {
  assert.throws(() => split(['-config', 'x']), new UsageError('sluice run: unknown flag -config (did you mean --config?)'));
  assert.throws(() => split(['-c', 'x']), new UsageError('sluice run: unknown flag -c'));
});

test('rejects a socket path that is too long and names the flag to change it', () => {
  assert.throws(() => split(['--state-dir', `/${'x'.repeat(120)}`]), /--admin-socket PATH/);
});
