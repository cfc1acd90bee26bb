import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sampleRoute } from '../../desired/testing/sample-listing.ts';
import { admin, sluice, temporary } from '../testing/run-command.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const served = (domain: string, upstream: string) => ({
  ...sampleRoute(domain, upstream),
  controller: 'controller',
  overrides: null,
  since: SINCE,
});

/** Runs diff of this file against a data plane with these routes. */
async function diff(t: TestContext, file: string, running: object[], ...more: string[]) {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), file);
  const answers: Record<string, [number, unknown]> = {
    'GET /routes?view=full': [200, running],
    'GET /settings': [200, [{ name: 'http_port', value: 80, origin: 'default' }]],
    'GET /certificates': [200, []],
  };
  return sluice(['diff', '--admin', await admin(t, answers), ...more], { cwd: directory });
}

test('nothing to change is exit 0 and one line', async (t) => {
  const file = 'a.example {\n  reverse_proxy 10.0.0.1:80\n}\n';
  assert.deepEqual(await diff(t, file, [served('a.example', '10.0.0.1:80')]), { code: 0, out: 'Nothing would change.\n', err: '' });
});

test('changes are exit 3, one line each with the old and the new value', async (t) => {
  const file = '{\n  http_port 8080\n}\na.example {\n  reverse_proxy 10.0.0.2:80\n}\nnew.example {\n  respond "x"\n}\n';
  const { code, out, err } = await diff(t, file, [served('a.example', '10.0.0.1:80'), served('old.example', '10.0.0.1:80')]);
  assert.deepEqual([code, err], [3, '']);
  assert.equal(
    out,
    [
      '~ http_port: 80 -> 8080',
      '~ a.example (Sluicefile:4)',
      '    upstreams: 10.0.0.1:80 -> 10.0.0.2:80',
      '+ new.example (Sluicefile:7)',
      '- old.example',
      '',
      '1 to add, 1 to change, 1 to remove, 1 setting to change.',
      '',
    ].join('\n'),
  );
});

test('a manually posted route is reported, with how to delete it', async (t) => {
  const file = 'a.example {\n  reverse_proxy 10.0.0.1:80\n}\n';
  const hand = {
    ...served('a.example', '10.0.0.9:80'),
    source: null,
    controller: null,
    overrides: sampleRoute('a.example', '10.0.0.1:80'),
  };
  const { code, out } = await diff(t, file, [hand]);
  assert.equal(code, 3);
  assert.match(out, /^! a\.example \(Sluicefile:1\), hidden: .*DELETE \/routes\/a\.example\n {4}.*\n/);
  assert.match(out, /upstreams: 10\.0\.0\.9:80 -> 10\.0\.0\.1:80/);
  assert.match(out, /0 to add, 0 to change, 0 to remove; 1 overridden by manually posted routes\.\n$/);
});

test('a domain of another controller is reported with its owner and how to compare as that controller', async (t) => {
  const file = 'a.example {\n  reverse_proxy 10.0.0.1:80\n}\n';
  const running = [{ ...served('a.example', '10.0.0.1:80'), controller: 'blue' }];
  const { code, out } = await diff(t, file, running);
  assert.equal(code, 3);
  assert.match(out, /^! a\.example .*belongs to controller blue .*--id blue/);
  assert.equal((await diff(t, file, running, '--id', 'blue')).code, 0);
});

test('--json prints the same as data', async (t) => {
  const { code, out } = await diff(t, 'a.example {\n  respond "x"\n}\n', [], '--json');
  assert.equal(code, 3);
  const { routes, settings } = JSON.parse(out) as { routes: { domain: string; change: string }[]; settings: unknown[] };
  assert.deepEqual(
    routes.map(({ domain, change }) => [domain, change]),
    [['a.example', 'added']],
  );
  assert.deepEqual(settings, []);
});

test('a file with errors is exit 1, and the data plane is not queried', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'a.example {\n  respnd\n}\n');
  const { code, err } = await sluice(['diff', '--admin', 'unix:/none/admin.sock'], { cwd: directory });
  assert.equal(code, 1);
  assert.match(err, /^Sluicefile:2:3: /);
});

test('an unreachable data plane is exit 5', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'a.example {\n  respond "x"\n}\n');
  assert.equal((await sluice(['diff', '--admin', 'unix:/none/admin.sock'], { cwd: directory })).code, 5);
});
