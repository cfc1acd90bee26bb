import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { listenUnix, UnusableSocketError } from './unix-socket.ts';

const NOBODY = 65_534;
const skip = process.geteuid?.() === 0 ? false : 'only root can act as another user';

let folder: string;
let path: string;
let server: Server;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-socket-'));
  path = join(folder, 'admin.sock');
  server = createServer();
});
afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** Leaves a socket at the path, as a process that was killed. */
async function leaveSocket(): Promise<void> {
  const moved = `${path}.moved`;
  const other = createServer().listen(moved);
  await once(other, 'listening');
  chmodSync(moved, 0o600);
  renameSync(moved, path);
  // It removes only what has its own path.
  await new Promise((resolve) => other.close(resolve));
}

async function listenAsNobody(): Promise<unknown> {
  process.seteuid?.(NOBODY);
  try {
    return await listenUnix(server, path).then(
      () => null,
      (error: unknown) => error,
    );
  } finally {
    process.seteuid?.(0);
  }
}

function isUnusable(error: unknown, message: RegExp): void {
  assert.ok(error instanceof UnusableSocketError, String(error));
  assert.match(error.message, message);
}

test('a socket that a killed process has left is replaced', async () => {
  await leaveSocket();
  await listenUnix(server, path);
  assert.ok(server.listening);
});

test('a socket of another user is left alone, with a message that says whose it is and what to do', { skip }, async () => {
  await leaveSocket();
  chownSync(folder, NOBODY, NOBODY);
  isUnusable(await listenAsNobody(), /may not connect to .*admin\.sock, which belongs to the user 0; if no process uses it, remove it$/);
  assert.ok(existsSync(path));
});

test('a left socket that can’t be removed is reported as such', { skip }, async () => {
  await leaveSocket();
  chownSync(path, NOBODY, NOBODY);
  chmodSync(folder, 0o755);
  isUnusable(await listenAsNobody(), /admin\.sock is left from a process that has ended, and .* may not remove it: remove the file$/);
});

test('a directory that may not be written to is named, and ports are not mentioned', { skip }, async () => {
  for (const mode of [0o755, 0o700]) {
    chmodSync(folder, mode);
    isUnusable(await listenAsNobody(), /admin\.sock can't be created by the user .*, who may not write to .*sluice-socket-\w+$/);
  }
});

test('a directory that does not exist is named', async () => {
  path = join(folder, 'none', 'admin.sock');
  isUnusable(
    await listenUnix(server, path).catch((error: unknown) => error),
    /admin\.sock can't be created: there is no directory .*none$/,
  );
});

test('a symbolic link that leads nowhere is not a socket', async () => {
  symlinkSync('nowhere', path);
  isUnusable(await listenUnix(server, path).catch((error: unknown) => error), /admin\.sock exists and is not a socket$/);
});
