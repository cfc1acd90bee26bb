import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../controller/cli/commands.ts';
import { Folder } from './harness/dataplane.ts';
import { freePort } from './harness/ports.ts';
import { Program, REPOSITORY } from './harness/process.ts';
import { until } from './harness/until.ts';
import { COMMAND_EXAMPLES, type CommandExample } from './reference/command-examples.ts';

const page = readFileSync(join(REPOSITORY, 'docs/reference/command-line.md'), 'utf8');
const SITE = 'shop.example {\n  respond "open"\n}\n';

test('every command has an example on its page', () => {
  assert.deepEqual(COMMAND_EXAMPLES.map(({ command }) => command).sort(), Object.keys(COMMANDS).sort());
  for (const { command, line } of COMMAND_EXAMPLES)
    assert.ok(
      page
        .slice(page.indexOf(`\n## ${command}\n`))
        .split('\n## ')[1]
        ?.includes(`\`\`\`sh\n${line}\n\`\`\``),
      command,
    );
});

test('the examples of the commands do what they are for, one after the other', { timeout: 60_000 }, async () => {
  using folder = new Folder();
  await using started = new AsyncDisposableStack();
  writeFileSync(folder.file('Sluicefile'), SITE);
  // The ports of the page are everybody's; what the lines leave to defaults is said by the environment.
  const ports = new Map(await Promise.all(['8080', '8081'].map(async (port) => [port, String(await freePort())] as const)));
  const shell = async ({ line, serves }: CommandExample) => {
    const env = {
      PATH: `${REPOSITORY}:${process.env.PATH}`,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_WORKERS: '1',
      SLUICE_DRAIN_TIMEOUT: '1s',
    };
    const own = line.replace(/\b808[01]\b/g, (port) => ports.get(port) ?? port);
    // A process that goes on takes the place of its shell, and so gets the signal that ends it.
    return new Program('sh', ['-c', serves ? `exec ${own}` : own], env, folder.path);
  };
  for (const example of COMMAND_EXAMPLES) {
    const program = await shell(example);
    started.use(program);
    if (example.serves) await program.said(example.serves);
    else await ended(program, example);
    if (example.command === 'upgrade') started.defer(() => endSuccessor(program));
  }
});

async function ended(program: Program, { line, code = 0, prints }: CommandExample): Promise<void> {
  const exit = await program.exited;
  assert.equal(exit.code, code, `${line}\n${program.output}`);
  if (prints) assert.match(program.stdout, prints, line);
}

/** The new process of an upgrade is nobody's child. */
async function endSuccessor({ stdout }: Program): Promise<void> {
  const pid = Number(/to sluice \S+ \(process (\d+)\)/.exec(stdout)?.[1]);
  process.kill(pid, 'SIGTERM');
  const isAlive = () => !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  await until('the new process to end', () => {
    try {
      return !isAlive();
    } catch {
      // Its entry is gone with it.
      return true;
    }
  });
}
