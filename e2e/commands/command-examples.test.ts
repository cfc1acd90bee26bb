import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../controller/cli/commands.ts';
import { COMMAND_EXAMPLES } from '../../shared/command-examples.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { EXAMPLE_OUTCOMES, type ExampleOutcome } from '../reference/command-examples.ts';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, REPOSITORY, run, SLUICE } from '../testing/process.ts';

const page = readFileSync(join(REPOSITORY, 'docs/reference/command-line.md'), 'utf8');
const SITE = 'shop.example {\n  respond "open"\n}\n';

const lineOf = (command: string): string => COMMAND_EXAMPLES[command] ?? '';

test('every command that is listed has --help, which exits with 0, with an example that is also on its page', async () => {
  const commands = Object.keys(COMMANDS);
  const listed = [...(await run([])).stdout.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, command = '']) => command);
  assert.deepEqual(listed.sort(), commands.toSorted());
  assert.deepEqual(Object.keys(COMMAND_EXAMPLES).sort(), commands.sort());
  assert.deepEqual(EXAMPLE_OUTCOMES.map(({ command }) => command).sort(), commands);
  for (const command of commands) {
    const line = lineOf(command);
    const help = await run([command, '--help']);
    assert.deepEqual([help.code, help.stderr], [0, ''], command);
    assert.match(help.stdout, new RegExp(`sluice ${command}`), command);
    assert.ok(help.stdout.endsWith(`\nExample:\n  ${line}\n`), help.stdout);
    assert.ok(
      page
        .slice(page.indexOf(`\n## ${command}\n`))
        .split('\n## ')[1]
        ?.includes(`\`\`\`sh\n${line}\n\`\`\``),
      command,
    );
  }
});

test('the examples of the commands work, run one after another', async () => {
  using folder = new Folder();
  await using started = new AsyncDisposableStack();
  writeFileSync(folder.file('Sluicefile'), SITE);
  // The ports of the page may be in use, so the environment overrides the defaults.
  const ports = new Map(await Promise.all(['8080', '8081'].map(async (port) => [port, String(await freePort())] as const)));
  const shell = async ({ command, serves }: ExampleOutcome) => {
    const env = {
      PATH: `${dirname(SLUICE)}:${process.env.PATH}`,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_WORKERS: '1',
      SLUICE_DRAIN_TIMEOUT: '1s',
    };
    const own = lineOf(command).replace(/\b808[01]\b/g, (port) => ports.get(port) ?? port);
    // A long-running process replaces its shell, so it receives the signal that ends it.
    return new Program('sh', ['-c', serves ? `exec ${own}` : own], env, folder.path);
  };
  for (const example of EXAMPLE_OUTCOMES) {
    const program = await shell(example);
    started.use(program);
    if (example.serves) await program.said(example.serves);
    else await ended(program, example);
    if (example.command === 'upgrade') started.defer(() => endSuccessor(program));
  }
});

async function ended(program: Program, { command, code = 0, prints }: ExampleOutcome): Promise<void> {
  const exit = await program.exited;
  assert.equal(exit.code, code, `${lineOf(command)}\n${program.output}`);
  if (prints) assert.match(program.stdout, prints, lineOf(command));
}

/** The new process of an upgrade is not a child of this process. */
async function endSuccessor({ stdout }: Program): Promise<void> {
  const pid = Number(/to sluice \S+ \(process (\d+)\)/.exec(stdout)?.[1]);
  process.kill(pid, 'SIGTERM');
  const isAlive = () => !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  await until('the new process to end', () => {
    try {
      return !isAlive();
    } catch {
      // Its entry disappears with it.
      return true;
    }
  });
}
