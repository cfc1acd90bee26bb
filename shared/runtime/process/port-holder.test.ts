import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { portHolder } from './port-holder.ts';

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const line = (local: string, state: string, user: number, inode: number): string =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 ${inode} 1 0000000000000000 100 0 0 10 0\n`;

/** A file system as `/proc` with these sockets, and with processes that have descriptors open. */
function proc(t: TestContext, sockets: readonly string[], processes: Readonly<Record<string, { exe: string; open: readonly string[] }>>) {
  const root = mkdtempSync(join(tmpdir(), 'proc-'));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(join(root, 'net'));
  writeFileSync(join(root, 'net', 'tcp'), HEAD + sockets.join(''));
  writeFileSync(join(root, 'version'), '');
  for (const [id, { exe, open }] of Object.entries(processes)) {
    mkdirSync(join(root, id, 'fd'), { recursive: true });
    symlinkSync(exe, join(root, id, 'exe'));
    for (const [number, target] of open.entries()) symlinkSync(target, join(root, id, 'fd', `${number}`));
  }
  return root;
}

test('names the first process that listens on the port, by its program', (t) => {
  const sockets = [line('00000000:0016', '0A', 0, 11), line('00000000:0050', '0A', 0, 12), line('0100007F:0050', '01', 33, 13)];
  const nginx = { exe: '/usr/sbin/nginx (deleted)', open: ['/dev/null', 'socket:[11]', 'socket:[12]'] };
  const root = proc(t, sockets, { 1000: nginx, 812: nginx, 7: { exe: '/usr/sbin/sshd', open: ['socket:[11]', 'socket:[13]'] } });
  assert.equal(portHolder(80, root), 'nginx (process 812)');
  assert.equal(portHolder(22, root), 'sshd (process 7)');
  assert.equal(portHolder(443, root), null);
});

test('names all if programs listen on several addresses, and a connection if nothing listens', (t) => {
  const sockets = [line('0100007F:1F90', '0A', 0, 21), line('0200007F:1F90', '0A', 0, 22), line('0100007F:9C40', '01', 0, 23)];
  const root = proc(t, [...sockets, line('0100007F:9C41', '06', 0, 0)], {
    5: { exe: '/opt/a', open: ['socket:[21]'] },
    6: { exe: '/opt/b', open: ['socket:[22]', 'socket:[23]'] },
  });
  assert.equal(portHolder(8_080, root), 'a (process 5) or b (process 6)');
  assert.equal(portHolder(40_000, root), 'b (process 6)');
  assert.equal(portHolder(40_001, root), null);
});

test('of a process of another user, whose descriptors can’t be read, the user is known', (t) => {
  const root = proc(t, [line('00000000:0050', '0A', 33, 12)], {});
  mkdirSync(join(root, '812'));
  assert.equal(portHolder(80, root), 'a process with the user ID 33 (as root, "ss -ltnp" shows which)');
});

test('a system without such files knows nothing', () => {
  assert.equal(portHolder(80, '/nowhere'), null);
});

test('a process finds its own port', { skip: process.platform !== 'linux' }, async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  assert.match(portHolder(port) ?? '', new RegExp(`^node.* \\(process ${process.pid}\\)$`));
});
