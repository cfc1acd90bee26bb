import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, SLUICE } from '../testing/process.ts';

test('a start that waits for a config file that does not answer says so, and can be stopped', async () => {
  using folder = new Folder();
  const file = folder.file('Sluicefile');
  execFileSync('mkfifo', [file]);
  const listen = ['--admin-listen', `127.0.0.1:${await freePort()}`, '--listen', `127.0.0.1:${await freePort()}`];
  await using program = new Program(SLUICE, ['run', '--config', file, '--state-dir', folder.file('state'), '--workers', '1', ...listen]);
  await program.said(
    `sluice run: waiting for the config file ${file}: its disk does not answer, or it is a named pipe that nothing writes`,
  );
  const { code, signal } = await program.kill('SIGTERM');
  // It can't end as usual, because Node waits for the file.
  assert.deepEqual([code, signal], [null, 'SIGKILL']);
});
