import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { ControllerReport } from '../../controller/status/report.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, TOKEN } from '../testing/dataplane.ts';
import { ask, visit } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { Program, SLUICE } from '../testing/process.ts';

const site = (text: string): string => `a.test {\n  respond "${text}"\n}\n`;

test('a data plane that a controller has under two addresses keeps one stream, and its status names the address that is not used', async () => {
  using folder = new Folder();
  const socket = folder.file('state/admin.sock');
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags: ['--admin-socket', socket] });
  writeFileSync(folder.file('Sluicefile'), site('one'));
  const [first, second] = [`unix:${socket}`, `127.0.0.1:${dataplane.adminPort}`];
  const port = await freePort();
  const addresses = ['--dataplane', first, '--dataplane', second];
  const flags = ['--config', folder.file('Sluicefile'), ...addresses, '--listen', `127.0.0.1:${port}`];
  await using controller = new Program(SLUICE, ['controller', ...flags], { SLUICE_ADMIN_TOKEN: TOKEN });
  const report = async (): Promise<ControllerReport> => {
    const { text } = await ask({ port }, '/status', { headers: { authorization: `Bearer ${TOKEN}` } });
    return JSON.parse(text);
  };
  await controller.said('two addresses lead to the same data plane');
  await until('the first address to be used', async () => (await report()).dataplanes[0]?.connected === true);
  const { dataplanes } = await report();
  assert.deepEqual(
    dataplanes.map(({ address, connected }) => [address, connected]),
    [
      [first, true],
      [second, false],
    ],
  );
  assert.equal(dataplanes[1]?.last_error, `it is the data plane of ${first}: name each data plane once`);
  assert.equal((await ask({ port }, '/ready')).status, 200);
  const failures = dataplanes.map(({ outcomes }) => outcomes.failed);
  writeFileSync(folder.file('Sluicefile'), site('two'));
  await until('the change to be served', async () => (await visit(dataplane.httpPort, 'a.test')).text === 'two');
  const after = await report();
  assert.deepEqual(
    after.dataplanes.map(({ outcomes }) => outcomes.failed),
    failures,
    'no stream has ended since',
  );
});
