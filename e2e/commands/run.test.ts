import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../shared/runtime/testing/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fake data plane: records its start, its exit and every frame, and exits when its supervisor does. */
const STAND_IN = `
import { appendFileSync, rmSync } from 'node:fs';
import { FakeDataplane } from '${new URL('../../controller/push/testing/fake-dataplane.ts', import.meta.url).href}';
import { plannedFlags } from '${new URL('../../shared/runtime/process/parent.ts', import.meta.url).href}';
const note = (text) => appendFileSync(process.env.NOTES, text + '\\n');
const argv = await plannedFlags();
if (argv.includes('--wrong')) {
  process.stderr.write('sluice dataplane: unknown flag --wrong\\n');
  process.exit(2);
}
note('start ' + JSON.stringify({ pid: process.pid, argv, globals: process.env.SLUICE_FILE_GLOBALS, supervised: process.env.SLUICE_SUPERVISED }));
const end = (why) => () => { note('end ' + why); process.exit(0); };
process.on('SIGTERM', end('SIGTERM'));
process.on('SIGUSR2', () => note('SIGUSR2'));
process.stdin.on('end', end('orphaned')).resume();
const dataplane = new FakeDataplane();
dataplane.answer = (frame) => { note('frame ' + frame.routes.map(({ domain }) => domain)); return dataplane.applied(frame); };
const socket = argv[argv.indexOf('--admin-socket') + 1];
rmSync(socket, { force: true });
await dataplane.listen(socket);
process.send({ kind: 'serving', version: '1' });
`;

/** What `npm test` has built, which starts with less CPU time; the sources if this file is run alone. */
const { TESTED_BUILD } = process.env;
/** A copy of that for this test file, with the fake data plane and Node's compile cache. */
const tree = mkdtempSync(join(tmpdir(), 'run-'));
before(() => {
  for (const room of TESTED_BUILD === undefined ? ['shared', 'controller'] : ['dist'])
    cpSync(join(TESTED_BUILD ?? ROOT, room), join(tree, room), { recursive: true });
  for (const file of ['package.json', 'sluice']) cpSync(join(ROOT, file), join(tree, file));
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const dataplane = join(tree, TESTED_BUILD === undefined ? 'dataplane' : 'dist/dataplane');
  mkdirSync(dataplane, { recursive: true });
  writeFileSync(join(dataplane, TESTED_BUILD === undefined ? 'main.ts' : 'main.js'), STAND_IN);
  // What is built consists of scripts.
  if (TESTED_BUILD !== undefined) writeFileSync(join(dataplane, 'package.json'), '{ "type": "module" }');
});
after(() => rmSync(tree, { recursive: true }));

const FILE = '{\n  http_port 8088\n}\na.example {\n  reverse_proxy 127.0.0.1:9000\n}\n';

/** `sluice run` in that tree, on a file and a state directory of its own. */
function startRun(flags: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  const state = join(folder, 'state');
  mkdirSync(state);
  const config = join(folder, 'Sluicefile');
  writeFileSync(config, FILE);
  const notesFile = join(folder, 'notes');
  writeFileSync(notesFile, '');
  const env = { ...process.env, NOTES: notesFile, NODE_COMPILE_CACHE: join(tree, 'compiled') };
  const argv = ['run', '--config', config, '--state-dir', state, '--listen', '127.0.0.1:0', ...flags];
  const child = spawn(join(tree, 'sluice'), argv, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let out = '';
  let err = '';
  child.stdout?.on('data', (text: Buffer) => {
    out += text.toString();
  });
  child.stderr?.on('data', (text: Buffer) => {
    err += text.toString();
  });
  const notes = () => readFileSync(notesFile, 'utf8').split('\n').filter(Boolean);
  const starts = () => notes().filter((note) => note.startsWith('start'));
  const frames = () => notes().filter((note) => note === 'frame a.example').length;
  const end = async () => {
    child.kill('SIGTERM');
    await ended;
    await until('all processes to end', () => starts().every((note) => !alive(pidIn(note))));
    rmSync(folder, { recursive: true });
  };
  return { child, ended, notes, starts, frames, state, config, out: () => out, err: () => err, end };
}

/** The same, for one test. */
function running(t: TestContext, flags: string[] = []) {
  const run = startRun(flags);
  t.after(run.end);
  return run;
}

const pidIn = (note: string): number => (JSON.parse(note.slice('start '.length)) as { pid: number }).pid;

function alive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
}

/** The descendants of a process whose command line contains the script. */
function childrenOf({ pid }: { readonly pid?: number | undefined }, script: string): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  const named = children.filter((one) => readFileSync(`/proc/${one}/cmdline`, 'utf8').includes(script));
  return [...named, ...children.flatMap((one) => childrenOf({ pid: one }, script))];
}

const LINUX = process.platform === 'linux' ? false : 'reads /proc';

test('starts both; the data plane gets the ports from the file, and the controller connects over the socket', {
  skip: LINUX,
}, async (t) => {
  const { notes, state, child, ended } = running(t, ['--http-port', '8099']);
  await until('the first frame', () => notes().some((note) => note === 'frame a.example'));
  const start = JSON.parse((notes()[0] ?? '').slice('start '.length)) as { argv: string[]; globals: string; supervised: string };
  assert.deepEqual(start.argv, ['--state-dir', state, '--http-port', '8099', '--admin-socket', join(state, 'admin.sock')]);
  assert.deepEqual([JSON.parse(start.globals), start.supervised], [{ http_port: 8088 }, '1']);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(notes().at(-1), 'end SIGTERM');
});

describe('while it runs', { skip: LINUX }, () => {
  let run: ReturnType<typeof startRun>;
  before(async () => {
    run = startRun();
    await until('the first frame', () => run.frames() > 0);
  });
  after(() => run.end());
  const controllers = () => childrenOf(run.child, 'controller/main');

  test('the process that planned the start has ended', async () => {
    await until('its end', () => childrenOf(run.child, 'cli/main').length === 0);
  });

  test('a killed data plane is restarted and receives the complete state while the controller keeps running', async () => {
    const [controller] = controllers();
    const before = run.frames();
    process.kill(pidIn(run.starts().at(-1) ?? ''), 'SIGKILL');
    await until('the next frame', () => run.frames() > before);
    assert.deepEqual(controllers(), [controller]);
  });

  test('a killed controller is restarted while the data plane keeps running', async () => {
    const [before, starts] = [run.frames(), run.starts().length];
    process.kill(controllers()[0] as number, 'SIGKILL');
    await until('the next frame', () => run.frames() > before);
    assert.equal(run.starts().length, starts);
  });

  test('SIGHUP reloads, and SIGUSR2 reaches the data plane', async () => {
    writeFileSync(run.config, 'nonsense');
    run.child.kill('SIGHUP');
    await until('the failed reload', () => run.out().includes('the reload failed'));
    run.child.kill('SIGUSR2');
    await until('the signal', () => run.notes().includes('SIGUSR2'));
    writeFileSync(run.config, FILE);
  });

  // The last: it ends the processes.
  test('both processes exit if the parent is killed', async () => {
    const [controller] = controllers();
    run.child.kill('SIGKILL');
    await until('the end of the controller', () => run.notes().includes('end orphaned') && !alive(controller as number));
  });
});

test('a flag that the data plane rejects ends run with exit code 2 and one line', { skip: LINUX }, async (t) => {
  const { ended, err } = running(t, ['--wrong']);
  assert.deepEqual(await ended, [2, null]);
  assert.equal(err(), 'sluice run: unknown flag --wrong\n');
});

test('a restarted data plane gets the current globals, and the last good ones while the file has errors', {
  skip: LINUX,
}, async (t) => {
  const { notes, starts, config, child, ended } = running(t);
  const globals = () => JSON.parse((JSON.parse((starts().at(-1) ?? '').slice('start '.length)) as { globals: string }).globals) as object;
  for (const [content, expected] of [
    ['{\n  http_port 8089\n}\n', { http_port: 8089 }],
    ['nonsense', { http_port: 8089 }],
  ] as const) {
    const before = starts().length;
    await until('the first frame', () => starts().length > 0 && notes().includes('frame a.example'));
    writeFileSync(config, content);
    process.kill(pidIn(starts().at(-1) ?? ''), 'SIGKILL');
    await until('the next start', () => starts().length > Math.max(1, before));
    assert.deepEqual(globals(), expected);
  }
  child.kill('SIGINT');
  assert.deepEqual(await ended, [0, null]);
});
