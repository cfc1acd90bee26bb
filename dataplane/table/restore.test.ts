import assert from 'node:assert/strict';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock } from '../../shared/runtime/clock.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import { restore } from './restore.ts';
import { frameOf, routeOf, TableFixture } from './table-fixture.ts';

const ROUTES = 400;

async function filled(): Promise<TableFixture> {
  const fixture = await TableFixture.start();
  const routes = Array.from({ length: ROUTES }, (_, at) => routeOf(`site-${at}.test`, 'up:1', { source: 'file' }));
  await fixture.table.apply(frameOf({}, routes));
  fixture.close();
  return fixture;
}

const aside = (fixture: TableFixture): string[] => readdirSync(fixture.folder).filter((name) => name.startsWith('routes.db.corrupt-'));

test('an entry that is damaged is left out and named; all others serve', async () => {
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

test('a file that is no database is set aside under its time, and the table goes on', async () => {
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

test('a file that lost its end, or bytes in the middle, never stops the start', async () => {
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

test('a table that a running process has is not touched by another', async () => {
  using fixture = await TableFixture.start();
  await assert.rejects(
    restore(fixture.folder, systemClock, fixture.log),
    (error) => error instanceof UsageError && /already.*--state-dir/.test(error.message),
  );
  await fixture.table.post(routeOf('a.test'));
});
