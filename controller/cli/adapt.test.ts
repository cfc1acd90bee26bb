import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseRoute } from '../../shared/route.ts';
import { sluice, temporary } from './testing/run-command.ts';

test('adapt prints one route per site as accepted by POST /routes, in the order of the file', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'b.example {\n  reverse_proxy 127.0.0.1:1\n}\na.example {\n  respond "x"\n}\n');
  const { code, out, err } = await sluice(['adapt'], { cwd: directory });
  assert.deepEqual([code, err], [0, '']);
  const routes = JSON.parse(out) as { domain: string; origin: string }[];
  assert.deepEqual(
    routes.map(({ domain, origin }) => [domain, origin]),
    [
      ['b.example', 'Sluicefile:1'],
      ['a.example', 'Sluicefile:4'],
    ],
  );
  for (const route of routes) assert.deepEqual(parseRoute(route), { ok: true, value: route });
});

test('adapt of a file with errors prints the errors and no routes', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'a.example {\n  respnd "x"\n}\n');
  const { code, out, err } = await sluice(['adapt', '--config', 'Sluicefile'], { cwd: directory });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^Sluicefile:2:3: /);
});
