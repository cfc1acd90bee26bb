import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { currentUser, exposedDirectories } from './exposed-directories.ts';

const folder = mkdtempSync(join(tmpdir(), 'exposed-'));
after(() => rmSync(folder, { recursive: true }));
const { uid, gid } = statSync(folder);
const STRANGER = 4_242;

function warningsFor(mode: number, user = currentUser()): string[] {
  const path = join(folder, 'state');
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
  return exposedDirectories([{ what: 'the state directory', path }], user);
}

test('a world-writable directory is reported with its mode and the command that fixes it', () => {
  const path = join(folder, 'state');
  for (const [mode, shown] of [
    [0o777, '0777'],
    [0o1777, '1777'],
    [0o702, '0702'],
  ] as const)
    assert.deepEqual(warningsFor(mode), [
      `the state directory ${path} can be written by every user of this machine (mode ${shown}): they can replace its content; run: chown ${uid} ${path} && chmod 0700 ${path}`,
    ]);
});

const AS_ROOT = uid === 0 ? false : 'only root can change the owner of files';

test('a group-writable directory is reported if the group is another one', { skip: AS_ROOT }, () => {
  const path = join(folder, 'state');
  mkdirSync(path, { recursive: true });
  chownSync(path, uid, STRANGER);
  assert.deepEqual(warningsFor(0o770, { uid, groups: [gid, STRANGER] }), []);
  assert.match(warningsFor(0o770, { uid, groups: [gid] }).join('\n'), /can be written by another group, with the id 4242 \(mode 0770\)/);
  chownSync(path, uid, gid);
});

test('a directory of another user is reported, but not one of root', { skip: AS_ROOT }, () => {
  const path = join(folder, 'state');
  assert.deepEqual(warningsFor(0o755, { uid: STRANGER, groups: [STRANGER] }), []);
  chownSync(path, STRANGER, gid);
  assert.match(warningsFor(0o755).join('\n'), /belongs to another user, with the id 4242 \(mode 0755\)/);
  chownSync(path, uid, gid);
});

test('a private, a readable and a missing directory cause no warning', () => {
  for (const mode of [0o700, 0o755, 0o750]) assert.deepEqual(warningsFor(mode), []);
  assert.deepEqual(exposedDirectories([{ what: 'the certificate directory', path: join(folder, 'none') }]), []);
});
