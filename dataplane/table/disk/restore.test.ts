import assert from 'node:assert/strict';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { UsageError } from '../../../shared/runtime/flags.ts';
import { frameOf, routeOf, TemporaryTable } from '../testing/temporary-table.ts';
import { restore } from './restore.ts';
import { routeSchemaHash } from './saved.ts';
import { Store } from './store.ts';

const ROUTES = 400;

async function filled(): Promise<TemporaryTable> {
  const fixture = await TemporaryTable.start();
  const routes = Array.from({ length: ROUTES }, (_, at) => routeOf(`site-${at}.test`, 'up:1', { source: 'file' }));
  await fixture.table.apply(frameOf({}, routes));
  fixture.close();
  return fixture;
}

const aside = (fixture: TemporaryTable): string[] => readdirSync(fixture.folder).filter((name) => name.startsWith('routes.db.corrupt-'));

test('a damaged entry is skipped and logged; all others are served', async () => {
  using fixture = await filled();
  const database = new DatabaseSync(join(fixture.folder, 'routes.db'));
  database.exec("UPDATE routes SET json = replace(json, 'up:1', 'evil:1') WHERE domain = 'site-7.test'");
  database.exec("UPDATE routes SET layer = 'odd' WHERE domain = 'site-8.test'");
  database.close();
  await fixture.restart();
  assert.equal(fixture.table.counts().routes, ROUTES - 2);
  const named = fixture.log.lines.filter(({ level }) => level === 'error').map(({ fields }) => (fields as { domain: string }).domain);
  assert.deepEqual(named.sort(), ['site-7.test', 'site-8.test']);
  assert.deepEqual(aside(fixture), []);
});

test('a file that is not a database is renamed with a timestamp, and the table starts empty', async () => {
  for (const content of ['garbage'.repeat(2_000), '']) {
    using fixture = await filled();
    writeFileSync(join(fixture.folder, 'routes.db'), content);
    await fixture.restart();
    await fixture.table.post(routeOf('new.test'));
    await fixture.restart();
    assert.ok(fixture.table.find('new.test'));
    if (content !== '') assert.equal(aside(fixture).length, 1);
  }
});

test('a truncated file, or one with damaged bytes, never prevents startup', async () => {
  for (let round = 0; round < 12; round++) {
    using fixture = await filled();
    const path = join(fixture.folder, 'routes.db');
    const bytes = readFileSync(path);
    if (round % 2 === 0) truncateSync(path, Math.floor((bytes.length * (round + 1)) / 14));
    else {
      bytes.fill(0xa5, 4_096 * round, 4_096 * round + 700);
      writeFileSync(path, bytes);
    }
    await fixture.restart();
    await fixture.table.post(routeOf('new.test'));
    await fixture.restart();
    assert.ok(fixture.table.find('new.test'), `round ${round}`);
    for (const { route } of fixture.table.list()) assert.match(route.upstream ?? '', /^up:1$/);
  }
});

test('a number that damage has made far too large never prevents startup', async () => {
  using fixture = await filled();
  const path = join(fixture.folder, 'routes.db');
  const database = new DatabaseSync(path);
  database.exec("UPDATE routes SET since = 9223372036854775807 WHERE domain = 'site-7.test'");
  database.close();
  await fixture.restart();
  assert.equal(fixture.table.find('site-7.test'), undefined);
  assert.equal(fixture.table.counts().routes, ROUTES - 1);
  assert.equal(aside(fixture).length, 1);
});

test('damage in the middle of an entry never prevents startup, however SQLite reads it', async () => {
  using fixture = await filled();
  const path = join(fixture.folder, 'routes.db');
  const intact = readFileSync(path);
  const at = intact.indexOf('site-7.test');
  // The lengths and types of the columns precede the first of them.
  for (let before = 1; before <= 12; before++)
    for (const damage of [0x06, 0xff]) {
      const bytes = Buffer.from(intact);
      bytes.fill(damage, at - before, at - before + 8);
      writeFileSync(path, bytes);
      await fixture.restart();
      assert.ok(fixture.table.counts().routes > 0, `${damage} ${before} bytes before`);
    }
});

test('a table in use by a running process is not touched by another', async () => {
  using fixture = await TemporaryTable.start();
  await assert.rejects(
    restore(fixture.folder, systemClock, fixture.log),
    (error) => error instanceof UsageError && /already.*--state-dir/.test(error.message),
  );
  await fixture.table.post(routeOf('a.test'));
});

test('a controller whose route was lost must send a full frame, and a lost route is not reported as unchanged', async () => {
  for (const damage of ["UPDATE routes SET json = 'x' WHERE domain = 'site-7.test'", "UPDATE routes SET controller = 'other'"]) {
    using fixture = await filled();
    const database = new DatabaseSync(join(fixture.folder, 'routes.db'));
    database.exec(damage);
    database.close();
    await fixture.restart();
    const refused = await fixture.table.apply(frameOf({ revision: 2, based_on: 1 }, []));
    assert.ok('refused' in refused, 'a difference to what was lost');
    const routes = Array.from({ length: ROUTES }, (_, at) => routeOf(`site-${at}.test`, 'up:1', { source: 'file' }));
    const again = await fixture.table.apply(frameOf({ revision: 1 }, routes));
    assert.ok('applied' in again && again.applied.results.some(({ result }) => result === 'added'));
    await fixture.restart();
    assert.equal(fixture.table.counts().routes, ROUTES);
  }
});

test('damaged controllers and globals are skipped and logged; routes are served', async () => {
  using fixture = await filled();
  await fixture.restart();
  await fixture.table.apply(frameOf({ revision: 2, based_on: 1 }, [], { settings: { http_port: 81 } }));
  fixture.close();
  const database = new DatabaseSync(join(fixture.folder, 'routes.db'));
  database.exec("UPDATE controllers SET json = replace(json, '1', '2'); UPDATE settings SET json = replace(json, '81', '82')");
  database.close();
  await fixture.restart();
  assert.deepEqual([fixture.table.controllers(), fixture.table.globals(), fixture.table.counts().routes], [[], {}, ROUTES]);
  assert.equal(fixture.log.lines.filter(({ level }) => level === 'error').length, 2);
});

test('routes before and after a damaged page are salvaged, with the controllers and the globals', async () => {
  using fixture = await filled();
  const path = join(fixture.folder, 'routes.db');
  const bytes = readFileSync(path);
  // A page with entries but no pointers to other pages (10: a leaf of an index).
  const leaf = Array.from({ length: bytes.length / 4_096 }, (_, page) => page * 4_096).find(
    (at) => bytes[at] === 10 && bytes.toString('latin1', at, at + 4_096).includes('site-2'),
  );
  assert.ok(leaf !== undefined);
  bytes.fill(0, leaf, leaf + 4_096);
  writeFileSync(path, bytes);
  await fixture.restart();
  const { routes } = fixture.table.counts();
  assert.ok(routes > ROUTES * 0.9 && routes < ROUTES, `${routes} of ${ROUTES}`);
  assert.equal(aside(fixture).length, 1);
  assert.deepEqual(
    fixture.table.controllers().map(({ id }) => id),
    ['c'],
  );
});

test('a file with an unknown format version is renamed, not misread', async () => {
  using fixture = await filled();
  const database = new DatabaseSync(join(fixture.folder, 'routes.db'));
  database.exec('PRAGMA user_version = 99');
  database.close();
  await fixture.restart();
  assert.equal(fixture.table.counts().routes, 0);
  assert.equal(aside(fixture).length, 1);
});

test('a file whose header forbids writing is renamed', async () => {
  using fixture = await filled();
  const path = join(fixture.folder, 'routes.db');
  const bytes = readFileSync(path);
  // The "file format write version" of an SQLite header.
  bytes[18] = 58;
  writeFileSync(path, bytes);
  await fixture.restart();
  await fixture.table.post(routeOf('new.test'));
  assert.equal(aside(fixture).length, 1);
});

test('routes saved under another schema are checked against the current one, once', async () => {
  using fixture = await filled();
  const store = new Store(join(fixture.folder, 'routes.db'));
  const claim = { json: '{"domain":"odd.test","tls":"perhaps"}', origin: null, source: null, controller: null, since: 1 };
  await store.save({ puts: [{ domain: 'odd.test', layer: 'hand', claim }], deletes: [], schemaHash: 'of another version' });
  store.close();
  await fixture.restart();
  assert.equal(fixture.table.find('odd.test'), undefined);
  assert.equal(fixture.table.counts().routes, ROUTES);
  assert.match(JSON.stringify(fixture.log.lines), /odd\.test/);
  await fixture.table.post(routeOf('odd.test'));
  await fixture.restart();
  assert.equal(fixture.table.counts().routes, ROUTES + 1);
  fixture.close();
  const after = new Store(join(fixture.folder, 'routes.db'));
  assert.equal(after.schemaHash(), routeSchemaHash());
  after.close();
});

test('a saved route with headers that are no longer allowed is served without them, and that is logged once', async () => {
  using fixture = await filled();
  const store = new Store(join(fixture.folder, 'routes.db'));
  const kept = { name: 'X-Kept', value: 'yes' };
  const headers = [kept, { name: 'Content-Length', value: '5' }, { name: 'te', value: null }];
  const route = routeOf('old.test', 'up:1', { handles: [{ path: '/a/*', headers: [kept] }] });
  const json = JSON.stringify({ ...route, headers, handles: route.handles.map((handle) => ({ ...handle, headers })) });
  const claim = { json, origin: null, source: null, controller: null, since: 1 };
  await store.save({ puts: [{ domain: 'old.test', layer: 'hand', claim }], deletes: [], schemaHash: 'of another version' });
  store.close();
  for (let start = 0; start < 2; start++) {
    await fixture.restart();
    const found = fixture.table.find('old.test');
    assert.deepEqual([found?.route.headers, found?.route.handles[0]?.headers], [[kept], [kept]]);
    assert.doesNotMatch(fixture.publisher.served.get('old.test') ?? '', /Content-Length/);
  }
  const warnings = fixture.log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields);
  assert.deepEqual(warnings, [{ domain: 'old.test', headers: ['Content-Length', 'te', 'Content-Length', 'te'] }]);
});
