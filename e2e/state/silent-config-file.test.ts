import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, SLUICE } from '../testing/process.ts';

/** Takes a lease on a file: opening it takes up to 45 s then (F_SETLEASE of fcntl(2)). Perl is part of every Debian. */
const TAKE_LEASE = '$SIG{IO} = "IGNORE"; open F, "+<", $ARGV[0] or die $!; fcntl F, 1024, 1 or die $!; $| = 1; print "taken\\n"; sleep 60';

test('a start that waits for a config file that does not answer says so, and can be stopped', async () => {
  using folder = new Folder();
  const file = folder.file('Sluicefile');
  writeFileSync(file, 'a.test {\n  respond "x"\n}\n');
  await using lease = new Program('perl', ['-e', TAKE_LEASE, file]);
  await lease.said('taken');
  const listen = ['--admin-listen', `127.0.0.1:${await freePort()}`, '--listen', `127.0.0.1:${await freePort()}`];
  await using program = new Program(SLUICE, ['run', '--config', file, '--state-dir', folder.file('state'), '--workers', '1', ...listen]);
  await program.said(`sluice run: waiting for the config file ${file}: its disk does not answer`);
  const { code, signal } = await program.kill('SIGTERM');
  // It can't end as usual, because Node waits for the file.
  assert.deepEqual([code, signal], [null, 'SIGKILL']);
});
