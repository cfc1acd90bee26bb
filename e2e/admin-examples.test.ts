import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { missing } from './components.ts';
import { Dataplane, Folder, TOKEN } from './harness/dataplane.ts';
import { Program, REPOSITORY } from './harness/process.ts';

test('the curl lines of the Admin API’s reference work as they are written', async (context) => {
  const reason = missing('curl');
  if (reason !== undefined) return context.skip(reason);
  using folder = new Folder();
  const socket = folder.file('admin.sock');
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags: ['--admin-socket', socket] });
  const reference = readFileSync(`${REPOSITORY}docs/reference/admin-api.md`, 'utf8');
  const examples = [...reference.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) =>
    block.replaceAll('127.0.0.1:6190', `127.0.0.1:${dataplane.adminPort}`).replaceAll('/var/run/sluice-admin.sock', socket),
  );
  assert.ok(examples.length >= 3);
  for (const example of examples) {
    // --fail makes an error of every status that is one.
    const program = new Program('sh', ['-ec', example.replaceAll('curl ', 'curl --silent --show-error --fail ')], {
      SLUICE_ADMIN_TOKEN: TOKEN,
    });
    assert.equal((await program.exited).code, 0, `${example}\n${program.output}`);
    if (example.includes('FRAME')) assert.match(program.stdout, /^\{"applied":\{.*"result":"added".*"result":"added"/);
  }
  const routes = JSON.parse((await dataplane.admin('GET', '/routes')).text) as { domain: string }[];
  assert.deepEqual(
    routes.map(({ domain }) => domain),
    ['a.example.com', 'app.example.com', 'b.example.com'],
  );
});
