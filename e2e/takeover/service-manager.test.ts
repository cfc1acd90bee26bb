import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { familyOf } from '../testing/pair.ts';
import { Program, REPOSITORY, run, SLUICE } from '../testing/process.ts';

const UNITS = join(REPOSITORY, 'deploy/systemd');
const services = readdirSync(UNITS).filter((name) => name.endsWith('.service'));

/** Prints each datagram followed by an empty line, because Node has no Unix datagram sockets. */
const RECEIVER =
  '$| = 1; socket(S, AF_UNIX, SOCK_DGRAM, 0); bind(S, sockaddr_un($ARGV[0])); while (defined recv(S, $m, 65536, 0)) { print "$m\n\n" }';

const unable = missing('perl') ?? missing('systemd-notify');
test('a service manager is notified of readiness, of an upgrade with its time, and of shutdown', {
  skip: unable,
}, async () => {
  using folder = new Folder();
  await using manager = new Program('perl', ['-MSocket', '-e', RECEIVER, folder.file('notify')]);
  await until('the manager to listen', () => readdirSync(folder.path).includes('notify'));
  const heard = () => manager.stdout.replaceAll('BARRIER=1\n', '');
  const env = { NOTIFY_SOCKET: folder.file('notify') };
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), entry: [SLUICE, 'dataplane'], env });
  const saysNext = async (after: number, expected: RegExp) => {
    await until(`${expected}`, () => expected.test(heard().slice(after))).catch(() => assert.fail(`${expected} in ${heard()}`));
    return heard().length;
  };
  const [pid = 0] = familyOf(dataplane.program.pid);
  const ready = await saysNext(0, /^READY=1\nSTATUS=serving: version \S+, process \d+\s*$/);
  assert.match(heard(), new RegExp(`process ${pid}`));
  assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, 'utf8'), /NOTIFY_SOCKET/);

  const before = process.hrtime.bigint() / 1_000n;
  assert.equal((await run(['upgrade', '--state-dir', folder.file('state')])).code, 0);
  const again = await saysNext(
    ready,
    /^\s*RELOADING=1\nMONOTONIC_USEC=\d+\nSTATUS=starting the successor\s+READY=1\nSTATUS=serving: .*\s*$/,
  );
  const moment = BigInt(/MONOTONIC_USEC=(\d+)/.exec(heard())?.[1] ?? 0);
  assert.ok(before <= moment && moment <= process.hrtime.bigint() / 1_000n, `${moment} is a moment of the upgrade`);

  assert.deepEqual(await dataplane.program.kill('SIGTERM'), { code: 0, signal: null });
  await saysNext(again, /^\s*STOPPING=1\nSTATUS=finishing open requests\s*$/);
});

test('a service manager is notified of a shutdown even if earlier messages are still on their way', { skip: unable }, async () => {
  using folder = new Folder();
  await using manager = new Program('perl', ['-MSocket', '-e', RECEIVER, folder.file('notify')]);
  await until('the manager to listen', () => readdirSync(folder.path).includes('notify'));
  const { PATH = '' } = process.env;
  // Each message takes longer than it takes the data plane to end.
  mkdirSync(folder.file('bin'));
  writeFileSync(folder.file('bin/systemd-notify'), `#!/bin/sh\nsleep 1\nPATH=${PATH} exec systemd-notify "$@"\n`, { mode: 0o755 });
  const env = { NOTIFY_SOCKET: folder.file('notify'), PATH: `${folder.file('bin')}:${PATH}` };
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), entry: [SLUICE, 'dataplane'], env });
  assert.deepEqual(await dataplane.program.kill('SIGTERM'), { code: 0, signal: null });
  await until('the last message', () => /READY=1\n[\s\S]*STOPPING=1\n/.test(manager.stdout));
});

test('the controller’s unit may create its socket next to that of the data plane, and neither unit takes the directory from the other', () => {
  for (const name of ['sluice-dataplane.service', 'sluice-controller.service']) {
    const unit = readFileSync(join(UNITS, name), 'utf8');
    assert.match(unit, /^ExecStart=.* (?:--admin-socket |--dataplane unix:)\/run\/sluice\/admin\.sock$/m);
    // Everything else is read-only (ProtectSystem=strict).
    assert.match(unit, /^RuntimeDirectory=sluice\nRuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=yes$/m);
  }
});

test('a process that the kernel ends for its memory takes no other process of the service along', () => {
  // systemd.service(5): unless told otherwise, systemd stops the whole service then, and starts it again once all requests have finished.
  for (const name of ['sluice.service', 'sluice-dataplane.service'])
    assert.match(readFileSync(join(UNITS, name), 'utf8'), /^OOMPolicy=continue$/m);
});

test('a service that fails to start a few times in a row is not given up', () => {
  for (const name of services) {
    const [head = ''] = readFileSync(join(UNITS, name), 'utf8').split('[Service]');
    assert.match(head, /^StartLimitIntervalSec=0$/m, name);
  }
});

test('programs of the group can read logs of a service as they can in their directory', async () => {
  using folder = new Folder();
  for (const name of ['sluice.service', 'sluice-dataplane.service']) {
    const unit = readFileSync(join(UNITS, name), 'utf8');
    const [, umask = ''] = /^UMask=(\d+)$/m.exec(unit) ?? [];
    assert.match(unit, /^LogsDirectoryMode=0750$/m);
    const accessLog = folder.file(`${name}.log`);
    const command = ['sh', '-c', `umask ${umask}; exec "$0" "$@"`];
    await using _ = await Dataplane.start({ stateDir: folder.file(name), command, flags: ['--access-log', accessLog] });
    assert.equal(statSync(accessLog).mode & 0o777, 0o640);
  }
});

test('systemd understands every line of the units', { skip: missing('systemd-analyze') }, async () => {
  using folder = new Folder();
  for (const name of services) {
    // systemd checks the path of the program, which differs here.
    const unit = readFileSync(join(UNITS, name), 'utf8').replaceAll('/usr/local/bin/sluice', SLUICE);
    writeFileSync(folder.file(name), unit);
  }
  await using verify = new Program('systemd-analyze', ['verify', '--man=no', ...services.map((name) => folder.file(name))]);
  assert.deepEqual([(await verify.exited).code, verify.output], [0, '']);
});
