import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { frameOf, routeOf, TemporaryTable } from '../testing/temporary-table.ts';

const ROUTES = 100;

/** Restores the table in a folder, and is killed before it changes the name of a file for the given time, counted from 0. */
const KILLED = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const [folder, at] = process.argv.slice(1);
  let calls = 0;
  for (const name of ['renameSync', 'rmSync']) {
    const change = fs[name];
    fs[name] = (...words) => {
      if (calls++ === Number(at)) process.kill(process.pid, 'SIGKILL');
      return change(...words);
    };
  }
  syncBuiltinESMExports();
  const { TemporaryTable } = await import(${JSON.stringify(import.meta.resolve('../testing/temporary-table.ts'))});
  await new TemporaryTable(folder).restart();
`;

/** @returns whether it was killed. */
function restoreKilled(folder: string, at: number): boolean {
  const { signal, status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', KILLED, folder, `${at}`], {
    encoding: 'utf8',
  });
  assert.ok(signal === 'SIGKILL' || status === 0, stderr);
  return signal === 'SIGKILL';
}

test('a process that is killed while it replaces a damaged table loses no route', async () => {
  let wasKilled = true;
  for (let at = 0; wasKilled; at++) {
    using fixture = await TemporaryTable.start();
    await fixture.table.apply(
      frameOf(
        {},
        Array.from({ length: ROUTES }, (_, site) => routeOf(`site-${site}.test`, 'up:1', { source: 'file' })),
      ),
    );
    fixture.close();
    const file = openSync(join(fixture.folder, 'routes.db'), 'r+');
    // The number of free pages in the header.
    writeSync(file, Buffer.from([0, 0, 0, 9]), 0, 4, 36);
    closeSync(file);
    wasKilled = restoreKilled(fixture.folder, at);
    await fixture.restart();
    assert.equal(fixture.table.counts().routes, ROUTES, `killed before call ${at}`);
    const names = readdirSync(fixture.folder).filter((name) => !/^routes\.db(-wal|-shm)?$/.test(name));
    assert.match(names.join(), /^routes\.db\.corrupt-[^,.]+\.\d+Z$/, `killed before call ${at}`);
    if (at === 0) assert.ok(wasKilled);
  }
});
