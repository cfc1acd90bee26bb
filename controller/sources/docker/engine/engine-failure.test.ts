import assert from 'node:assert/strict';
import { test } from 'node:test';
import { engineFailure, refusedBy } from './engine-failure.ts';

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

test('a directory or file in the place of the socket is reported as that, with where a directory may come from', () => {
  const refused = (path: string) => engineFailure({ kind: 'unix', path }, 'report its version', { code: 'ECONNREFUSED' }).message;
  assert.match(
    refused(import.meta.dirname),
    /^\S+ is a directory, not a socket: container engines make one where .* does not exist; .*--docker SOCKET/,
  );
  assert.match(refused(import.meta.filename), /^\S+ is not a socket; name that of the container engine with --docker SOCKET$/);
});

test('a mounted socket that the engine has replaced is reported as that, as the engine may well be running', () => {
  const replaced = { isDirectory: () => false, isSocket: () => true, nlink: 0 };
  assert.match(
    refusedBy('/var/run/docker.sock', replaced),
    /no longer has: .* restart the container of the controller, or mount the directory/,
  );
  assert.match(refusedBy('/var/run/docker.sock', { ...replaced, nlink: 1 }), /is not running/);
});

test('an engine that expects TLS is reported with what to name instead', () => {
  const message = '(HTTP code 400) unexpected - Client sent an HTTP request to an HTTPS server.';
  assert.match(
    words({ statusCode: 400, message }),
    /expects TLS, which is not supported: name its socket, or tcp:\/\/HOST:PORT of a socket proxy/,
  );
});

test('the message is one line, also if what the server says has several', () => {
  assert.match(
    words({ statusCode: 503, message: '(HTTP code 503) unexpected - <html>\n<body>Busy\r\n</body>' }),
    /- <html> <body>Busy <\/body>$/,
  );
});
