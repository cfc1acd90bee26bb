import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../../shared/runtime/flags.ts';
import { CONTROLLER_FLAGS } from '../../flags.ts';
import { splitArguments } from './run-arguments.ts';

const split = (argv: string[], env: Record<string, string> = {}) => splitArguments(CONTROLLER_FLAGS, argv, env);

test('flags of the controller go there, shared ones to both, all others to the data plane', () => {
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

test('without a named socket it stands in the state directory, and both are told', () => {
  const { controller, dataplane, adminSocket } = split(['--state-dir', '/var/s']);
  assert.equal(adminSocket, '/var/s/admin.sock');
  assert.deepEqual(dataplane, ['--state-dir', '/var/s', '--admin-socket', '/var/s/admin.sock']);
  assert.deepEqual(controller, ['--dataplane', 'unix:/var/s/admin.sock']);
});

test('the state directory and the socket may come from the environment, and a flag wins', () => {
  assert.equal(split([], { SLUICE_STATE_DIR: '/e' }).adminSocket, '/e/admin.sock');
  assert.equal(split(['--state-dir=/f'], { SLUICE_STATE_DIR: '/e' }).adminSocket, '/f/admin.sock');
  assert.equal(split([], { SLUICE_ADMIN_SOCKET: '/e.sock' }).adminSocket, '/e.sock');
});

test('the socket switched on without a path is the default one', () => {
  const socket = '/var/run/sluice-admin.sock';
  assert.equal(split(['--admin-socket', '--http-port', '80']).adminSocket, socket);
  assert.equal(split([], { SLUICE_ADMIN_SOCKET: '1' }).adminSocket, socket);
});

test('nothing at all is the state directory of the machine', () => {
  assert.equal(split([]).adminSocket, '/var/lib/sluice/admin.sock');
});

test('a word before the first flag is refused', () => {
  assert.throws(() => split(['start', '--config', 'x']), new UsageError('sluice run: name the config file with --config start'));
});

test('a socket path that no system takes is refused with the flag that shortens it', () => {
  assert.throws(() => split(['--state-dir', `/${'x'.repeat(120)}`]), /--admin-socket PATH/);
});
