import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compileFile } from '../../controller/sources/file/compile.ts';
import { usedBy } from '../../e2e/testing/ports.ts';
import { choosePorts, isTaken, PortTakenError } from './ports.ts';

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** A port that this test listens on. */
async function taken(t: TestContext): Promise<number> {
  const server: Server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  return (server.address() as { port: number }).port;
}

test('the Sluicefile of the demo is valid', async () => {
  const compiled = await compileFile(here('./Sluicefile'), {});
  assert.equal(compiled.ok, true);
});

test('for a port in use the next free one is chosen, and a line says so', async (t) => {
  const usual = await taken(t);
  const uses = [
    { name: 'http', usual, what: 'the demo' },
    { name: 'admin', usual, what: 'the Admin API' },
  ];
  const { ports, moved } = await choosePorts(uses, new Map());
  const [http = 0, admin = 0] = ports.values();
  assert.ok(http > usual && admin > http, `${usual}, ${http}, ${admin}`);
  assert.deepEqual(
    [await isTaken(http), moved],
    [
      false,
      [
        `Port ${usual} is in use by another program: the demo is on ${http}.`,
        `Port ${usual} is in use by another program: the Admin API is on ${admin}.`,
      ],
    ],
  );
});

test('an explicitly set port is reserved before defaults are chosen', async (t) => {
  const usual = await taken(t);
  let free = usual + 1;
  while (await isTaken(free)) free++;
  const uses = [
    { name: 'admin', usual, what: 'the Admin API' },
    { name: 'http', usual: 1, what: 'the demo' },
  ];
  const { ports, moved } = await choosePorts(uses, new Map([['http', free]]));
  assert.equal(ports.get('http'), free);
  assert.ok((ports.get('admin') ?? 0) > free);
  assert.equal(moved.length, 1);
  await assert.rejects(choosePorts(uses, new Map([['http', usual]])), PortTakenError);
});

test('an explicitly set port that is in use or invalid prints one line, whether set by flag or environment', async (t) => {
  const port = await taken(t);
  const start = async (argv: string[], env: Record<string, string>) => {
    const child = spawn(process.execPath, [here('./start.ts'), ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let err = '';
    child.stderr.on('data', (text: Buffer) => {
      err += text.toString();
    });
    const [code] = await once(child, 'close');
    return { code, err };
  };
  const line = `Port ${port} (the demo) is in use${usedBy(process.pid)}: set a different port, or stop that program and start again.\n`;
  assert.deepEqual(await start(['--http-port', `${port}`], {}), { code: 1, err: line });
  assert.deepEqual(await start([], { SLUICE_HTTP_PORT: `${port}` }), { code: 1, err: line });
  const { code, err } = await start(['--http-port', '0'], {});
  assert.equal(code, 2);
  assert.match(err, /^sluice demo: --http-port "0".*1 to 65535\n$/);
  // What is left of "npm start --http-port 9000".
  assert.deepEqual(await start(['9000'], {}), {
    code: 2,
    err: 'sluice demo: unexpected argument "9000" (flags come after --: npm start -- --http-port 9000)\n',
  });
});
