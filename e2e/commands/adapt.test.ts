import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { FullRoute } from '../../shared/wire/status.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { run } from '../testing/process.ts';

const HASH = `$2b$10$${'a'.repeat(53)}`;
const FILE = `a.test, *.b.test {
  rate_limit 5/s
  header X-A b
  redir /old/* /new/{remainder} 308
  handle_path /api/* {
    basic_auth "staff" {
      ann ${HASH}
    }
    reverse_proxy 127.0.0.1:1 127.0.0.1:2
  }
  reverse_proxy https://127.0.0.1:3
}
c.test {
  tls off
  respond 404 "none"
}
`;

test('the output of adapt can be posted and is returned unchanged by the Admin API', async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state') });
  writeFileSync(folder.file('Sluicefile'), FILE);
  const shown = await run(['adapt', '--config', folder.file('Sluicefile')]);
  assert.equal(shown.code, 0);
  assert.ok(!shown.stdout.includes(HASH), 'no hash is shown unless it is requested');
  const { stdout } = await run(['adapt', '--secrets', '--config', folder.file('Sluicefile')]);
  const routes = JSON.parse(stdout) as { domain: string }[];
  assert.deepEqual(
    routes.map(({ domain }) => domain),
    ['a.test', '*.b.test', 'c.test'],
  );
  for (const route of routes) assert.equal((await dataplane.admin('POST', '/routes', route)).status, 201);
  const answered = JSON.parse((await dataplane.admin('GET', '/routes?view=full')).text) as FullRoute[];
  const expected = JSON.parse(shown.stdout) as { domain: string; origin: string }[];
  for (const { origin: _, ...route } of expected) {
    const { controller, overrides, since, conditions, ...served } =
      answered.find(({ domain }) => domain === route.domain) ?? assert.fail(route.domain);
    assert.deepEqual(served, route);
  }
});
