import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { checkout } from '../testing/checkout.ts';
import { Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { Program, REPOSITORY } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const dedent = (text: string): string => text.replace(/^ {3}/gm, '');

/** The README's chapter as a reader would follow it: its file, and its commands in order. */
function chapter(): { sluicefile: string; commands: string[]; validate: string } {
  const readme = readFileSync(`${REPOSITORY}README.md`, 'utf8');
  const text = readme.slice(readme.indexOf('## Five minutes'), readme.indexOf('## Containers'));
  const commands = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) => dedent(block).trim().split('\n'));
  return {
    sluicefile: dedent(/```sluicefile\n([\s\S]*?)```/.exec(text)?.[1] ?? ''),
    commands: commands.map((line) => line.trim()),
    validate: /`(\.\/sluice validate [^`]+)` prints `Config valid\.`/.exec(text)?.[1] ?? '',
  };
}

test('the README’s “Five minutes to a first site” works as written', async (context) => {
  const reason = missing('curl');
  if (reason !== undefined) return context.skip(reason);
  using folder = new Folder();
  const directory = folder.file('sluice');
  checkout(directory);
  const app = (request: IncomingMessage, response: ServerResponse) => response.end(`app ${request.url}`);
  await using one = await Upstream.start('one', app);
  await using two = await Upstream.start('two', app);
  await using api = await Upstream.start('api', (request, response) => response.end(`api ${request.url}`));
  const http = await freePort();
  // Only the ports differ from the README, since those may be in use.
  const ports: Readonly<Record<string, number>> = { 8080: http, 3000: one.port, 3001: two.port, 4000: api.port };
  const moved = (text: string) => text.replace(/\b(?:8080|3000|3001|4000)\b/g, (port) => `${ports[port]}`);
  const env = { SLUICE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`, SLUICE_LISTEN: `127.0.0.1:${await freePort()}` };
  const shell = async (line: string) => {
    const program = new Program('sh', ['-c', line], {}, directory);
    const { code } = await program.exited;
    assert.equal(code, 0, `${line}: ${program.output}`);
    return program.stdout;
  };

  const { sluicefile, commands, validate } = chapter();
  writeFileSync(`${directory}/Sluicefile`, moved(sluicefile));
  assert.equal(await shell(validate), 'Config valid.\n');
  assert.match(await shell('./sluice version'), /^sluice \S+ \(Node 26\./);

  const [run = '', ...others] = commands;
  assert.match(run, /^\.\/sluice run /);
  assert.ok(others.length >= 5, others.join('\n'));
  await using running = new Program('sh', ['-c', `exec ${run}`], env, directory);
  await until('the first site', async () => (await ask({ port: http }, '/', { headers: { host: 'hello.localhost' } })).status === 200);
  const answers = new Map<string, string>();
  for (const line of others) answers.set(line, await shell(moved(line)));
  const answerOf = (part: string) => [...answers].find(([line]) => line.includes(part))?.[1] ?? assert.fail(`no command has ${part}`);
  assert.equal(answerOf('hello.localhost'), 'Hello from Sluice');
  assert.match(answerOf('routes'), /app\.localhost.*\n.*hello\.localhost/);
  assert.match(answerOf('explain'), /^http:\/\/app\.localhost\/api\/users: /);
  assert.match(answerOf('status'), /^Nothing is wrong\./);
  assert.deepEqual(
    (JSON.parse(answerOf('/analytics')) as { domain: string }[]).map(({ domain }) => domain),
    ['hello.localhost'],
  );

  const visit = (path: string) => ask({ port: http }, path, { headers: { host: 'app.localhost' } });
  assert.equal((await visit('/page')).text, 'app /page');
  const users = await visit('/api/users');
  assert.deepEqual([users.text, users.headers['cache-control']], ['api /users', 'no-store']);
  assert.equal((await visit('/old/x')).headers.location, '/new/x');
  assert.equal(running.exit, null);
});
