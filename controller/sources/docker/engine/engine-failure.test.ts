import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineFailure } from './engine-failure.ts';

const SOCKET = { kind: 'unix', path: '/var/run/docker.sock' } as const;
const words = (error: object) => engineFailure(SOCKET, 'list containers', error).message;

test('an inaccessible socket is reported with how to find its group and where to configure it', () => {
  assert.match(words({ code: 'EACCES' }), /"stat -c %g \/var\/run\/docker\.sock".*group_add/);
});

test('distinguishes a missing socket, a stopped engine and a refusal', () => {
  assert.match(words({ code: 'ENOENT' }), /^no container engine at \/var\/run\/docker\.sock: there is no such socket;/);
  assert.match(words({ code: 'ECONNREFUSED' }), /is not running/);
  assert.match(words({ statusCode: 403, message: 'x' }), /refuses to list containers \(403\)/);
  assert.match(words({ message: '(HTTP code 500) server error - broken ' }), /could not list containers: \(HTTP code 500\).* broken$/);
});
