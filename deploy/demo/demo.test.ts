import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileFile } from '../../controller/sources/file/compile.ts';
import { isTaken } from './ports.ts';

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

test('the Sluicefile of the demonstration is valid', async () => {
  const compiled = await compileFile(here('./Sluicefile'), {});
  assert.equal(compiled.ok, true);
});

test('a port that is taken is named before anything starts', async (t) => {
  const port = 9_102;
  if (!(await isTaken(port))) {
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => void server.close());
  }
  const child = spawn(process.execPath, [here('./start.ts')], { stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stderr.on('data', (text: Buffer) => {
    err += text.toString();
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 1);
  assert.match(err, /^Port \d+ \(.+\) is taken by another program: end it and start again\.\n$/);
});
