import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { visit } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { Program, SLUICE } from '../testing/process.ts';

test('a first run with an error in a site opens the ports from the globals, and serves once the error is fixed', async () => {
  using folder = new Folder();
  const [port, admin, controller] = [await freePort(), await freePort(), await freePort()];
  const file = folder.file('Sluicefile');
  const globals = `{\n  http_port ${port}\n  bind 127.0.0.1\n}\n`;
  writeFileSync(file, `${globals}a.test {\n  respnd ok\n}\n`);
  const listen = ['--admin-listen', `127.0.0.1:${admin}`, '--listen', `127.0.0.1:${controller}`];
  await using program = new Program(SLUICE, ['run', '--config', file, '--state-dir', folder.file('state'), '--workers', '1', ...listen]);
  await program.said('respnd');
  await until('the port of the file to answer', () =>
    visit(port, 'a.test').then(
      ({ status }) => status === 404,
      () => false,
    ),
  );
  writeFileSync(file, `${globals}a.test {\n  respond ok\n}\n`);
  await until('the fixed file to be served', async () => (await visit(port, 'a.test')).text === 'ok');
  assert.equal(program.exit, null);
});
