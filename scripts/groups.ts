import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Enough that the processes end at about the same time, and few enough that loading the sources takes little of their time. */
const GROUPS = 8;
const BESIDE_SOURCES = '{shared,controller,dataplane,deploy}/**/*.test.ts';
const ALONE = /^\/\/ Runs alone: ./;

/**
 * Writes into a folder a program for each group of the test files beside the sources, which runs them in one process,
 * and prints what `node --test` is to run: these, and the files whose first line says that they run alone.
 */
function group(folder: string): string[] {
  const files = globSync(BESIDE_SOURCES).toSorted();
  const alone = files.filter((file) => ALONE.test(readFileSync(file, 'utf8')));
  const shared = files.filter((file) => !alone.includes(file));
  const together = JSON.stringify(new URL('together.ts', import.meta.url).href);
  const programs = Array.from({ length: GROUPS }, (_, at) => {
    const program = join(folder, `group-${at}.mjs`);
    const list = JSON.stringify(shared.filter((_, index) => index % GROUPS === at));
    writeFileSync(program, `import { together } from ${together};\nawait together(${JSON.stringify(`${program}.running`)}, ${list});\n`);
    return program;
  });
  return [...programs, ...alone];
}

const [folder = ''] = process.argv.slice(2);
process.stdout.write(`${group(folder).join('\n')}\n`);
