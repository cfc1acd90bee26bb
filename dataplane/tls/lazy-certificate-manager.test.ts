import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../shared/runtime/random.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { Keyring } from './keyring.ts';
import { LazyCertificateManager } from './lazy-certificate-manager.ts';

/** A manager in a new folder, for these sites, at an authority that does not exist. */
function scene(...domains: string[]) {
  const root = mkdtempSync(join(tmpdir(), 'lazy-'));
  const certDir = join(root, 'certs');
  const clock = new ManualClock();
  const log = memoryLog();
  const nothing = async (): Promise<void> => undefined;
  const sites = () => domains.map((domain) => ({ domain, https: 'auto' as const }));
  const manager = new LazyCertificateManager({
    ...{ certDir, clock, log, random: systemRandom, stateDir: root, noAcme: null },
    keyring: new Keyring(root, clock.now(), { random: systemRandom, log }),
    ...{ sites, site: () => null, addresses: () => [], httpPort: () => 80, reachable: nothing, opened: nothing },
    publisher: { generation: 0, publish: async () => 1 },
  });
  const acme = { directory: 'https://127.0.0.1:1/dir', rootPath: null, email: 'ops@example.com', binding: null, dns: null };
  return { root, certDir, clock, log, manager, acme };
}

test('a process that is told to end during a takeover which then fails places no further order', async () => {
  const { root, clock, log, manager, acme } = scene('a.test');
  const failures = (): number => log.lines.filter(({ message }) => message === 'no certificate').length;
  try {
    await manager.setAcme(acme);
    for (let tries = 0; tries < 1_000 && failures() === 0; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(failures(), 1);
    await manager.pause();
    await manager.stop();
    manager.resume();
    clock.pass(60_000);
    assert.equal(await manager.retry('a.test'), null);
  } finally {
    await manager.stop();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('a process that begins to need certificates when another one takes over orders none', async () => {
  const { root, certDir, log, manager, acme } = scene('a.test');
  try {
    const opening = manager.setAcme(acme);
    await manager.pause();
    await opening;
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    // An order begins with a check of the directory.
    assert.equal(existsSync(join(certDir, 'acme')), false);
    manager.resume();
    const failed = (): boolean => log.lines.some(({ message }) => message === 'no certificate');
    for (let tries = 0; tries < 1_000 && !failed(); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(failed(), 'it orders when the takeover has failed');
  } finally {
    await manager.stop();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('a certificate directory that can be used again is no longer warned about, and both are logged once', async () => {
  const { root, certDir, clock, log, manager, acme } = scene();
  const about = (lines: readonly string[]): string[] => lines.filter((line) => line.includes(`use the certificate directory ${certDir}`));
  try {
    writeFileSync(certDir, '');
    await manager.setAcme(acme);
    clock.pass(300_000);
    assert.match(about(manager.warnings).join(), /^can't use .*certs \(it is not a directory\); name another one with --cert-dir PATH$/);
    assert.equal(about(log.lines.map(({ message }) => message)).length, 1);
    rmSync(certDir);
    clock.pass(30_000);
    assert.deepEqual(about(manager.warnings), []);
    assert.ok(log.lines.some(({ message }) => message === 'the certificate directory can be used again'));
  } finally {
    await manager.stop();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});
