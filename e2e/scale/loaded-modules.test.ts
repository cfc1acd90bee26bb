import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, REPOSITORY } from '../testing/process.ts';

/** The modules that a process and a worker load before they serve. Importing the entry points themselves would start them. */
const LOADED = [
  'dataplane/components.ts',
  'dataplane/traffic/worker/traffic-worker.ts',
  'controller/controller.ts',
  'controller/sources/kubernetes/api/cluster.ts',
  'controller/cli/run/plan.ts',
  'controller/cli/command/admin-query.ts',
  'shared/parent/child.ts',
];

/** Whether Node has loaded its fetch and WebSocket after an import. */
async function loadsFetch(module: string): Promise<boolean> {
  const code = `await import(${JSON.stringify(module)}); console.log(process.moduleLoadList.includes('NativeModule internal/deps/undici/undici')); process.exit()`;
  await using program = new Program(process.execPath, ['--input-type=module', '--eval', code]);
  assert.equal((await program.exited).code, 0, program.output);
  return program.stdout === 'true\n';
}

test('no process and no worker loads Node’s fetch and WebSocket when it starts', async () => {
  assert.ok(await loadsFetch('node:http'), 'an import of node:http loads them');
  for (const module of LOADED) assert.equal(await loadsFetch(REPOSITORY + module), false, module);
});

test('a worker loads no schemas, because the main thread has validated its input', async () => {
  const code = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('${REPOSITORY}dataplane/traffic/worker/traffic-worker.ts');
    console.log(loaded.filter((url) => url.includes('/node_modules/zod/')).length, loaded.length > 100);
    process.exit();
  `;
  await using program = new Program(process.execPath, ['--input-type=module', '--eval', code]);
  assert.equal((await program.exited).code, 0, program.output);
  assert.equal(program.stdout, '0 true\n');
});
