import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import slowest from './slowest.ts';

const CORES = availableParallelism();
/**
 * Tests wait for sockets, processes and timers, some of them most of their time, so more of them run than there are cores. Whole runs with
 * five, six and eight on two cores took the same time within the noise.
 */
const JOBS = Number(process.env.TEST_JOBS ?? CORES * 2 + 1);
const BESIDE_SOURCES = '{shared,controller,dataplane,deploy}/**/*.test.ts';
const OF_BOTH_PROCESSES = 'e2e/**/*.test.ts';
const ALONE = /^\/\/ Runs alone: ./;
/**
 * Run in networks of their own, which a process cannot share with other files. They wait for engines and API servers most of the time, and
 * take the longest: started first, they leave the cores to the others.
 */
const IN_OWN_NETWORK = /^e2e\/(docker|kubernetes)\//;
/** Half an hour for a process that runs many files, each of which has five minutes. So much is only needed on a very busy machine. */
const PROCESS_MS = 1_800_000;
/** --quick tries a tenth of the random inputs that npm test compares with Node's own parser, and of the exceptions that it throws. */
const QUICK = { SLUICE_FUZZ: '50000', SLUICE_FUZZ_SEED: '1', SLUICE_FAULTS: '10' };

const folder = mkdtempSync(join(tmpdir(), 'sluice-tests-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean', default: false } }, allowPositionals: true });
if (values.quick) Object.assign(process.env, { ...QUICK, ...process.env });

/** Programs that run these files, each of which takes the next one that no other has taken. */
function programs(count: number, files: readonly string[]): string[] {
  const together = JSON.stringify(new URL('together.ts', import.meta.url).href);
  const taken = mkdtempSync(join(folder, 'files-'));
  return Array.from({ length: count }, (_, at) => {
    const program = join(taken, `together-${at}.mjs`);
    writeFileSync(program, `import { together } from ${together};\nawait together(${JSON.stringify(taken)}, ${JSON.stringify(files)});\n`);
    return program;
  });
}

/** Everything that npm test runs, in the order in which it is started. */
function everything(): string[] {
  const files = globSync(BESIDE_SOURCES).toSorted();
  const alone = files.filter((file) => ALONE.test(readFileSync(file, 'utf8')));
  const shared = files.filter((file) => !alone.includes(file));
  // These keep the cores busy, so a few programs do.
  if (values.quick) return [...programs(CORES + 1, shared), ...alone];
  const { inOwnNetwork = [], rest = [] } = Object.groupBy(globSync(OF_BOTH_PROCESSES).toSorted(), (file) =>
    IN_OWN_NETWORK.test(file) ? 'inOwnNetwork' : 'rest',
  );
  return [...programs(CORES, shared), ...inOwnNetwork, ...alone, ...programs(JOBS, rest)];
}

/** @throws if there is no such file. */
function filesOf(pattern: string): string[] {
  const found = globSync(pattern).toSorted();
  if (found.length === 0) throw new Error(`no test file is called ${pattern}`);
  return found;
}

const files = positionals.length > 0 ? positionals.flatMap(filesOf) : everything();
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const results = run({ files, concurrency: JOBS, timeout: PROCESS_MS, signal: stop.signal });
results.on('test:summary', ({ file, success }) => {
  if (file === undefined && !success) process.exitCode = 1;
});
results.compose(new spec()).pipe(process.stdout);
results.compose(slowest).pipe(process.stdout);
results.once('end', () => {
  for (const name of globSync('files-*/*.running', { cwd: folder })) {
    process.exitCode = 1;
    process.stderr.write(`A process of tests ended while it ran ${readFileSync(join(folder, name), 'utf8')}.\n`);
  }
});
