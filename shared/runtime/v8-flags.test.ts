import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { garbageCollector } from './v8-flags.ts';

const LAUNCHER = new URL('../../sluice', import.meta.url);
const FLAGS = ['--max-inlined-bytecode-size=1000', '--no-allocation-site-pretenuring'];
const MODULE = JSON.stringify(new URL('./v8-flags.ts', import.meta.url).href);

/** V8's tag of what it accepts from a cache, which depends on its flags, after some code has run in a process with some flags. */
function tagAfter(code: string, flags: readonly string[] = []): string {
  const program = `${code}; import { cachedDataVersionTag } from 'node:v8'; console.log(cachedDataVersionTag());`;
  return execFileSync(process.execPath, [...flags, '--input-type=module', '--eval', program], { encoding: 'utf8' });
}

test('flags that are set later are those of the process, as if it had been started with them', () => {
  const set = `import { setV8Flags } from ${MODULE}; setV8Flags(${JSON.stringify(FLAGS)})`;
  assert.equal(tagAfter(set), tagAfter('', FLAGS));
  assert.notEqual(tagAfter(set), tagAfter(''));
});

test('the launcher starts no process with flags for which V8 rejects the cache of the modules of Node', () => {
  const launcher = readFileSync(LAUNCHER, 'utf8');
  const young = /^young=(\S+)$/m.exec(launcher)?.[1];
  const threads = /^threads=(\S+)\$\{/m.exec(launcher)?.[1];
  const started = [...launcher.matchAll(/exec "\$node" (.*?) "\$rooms/g)].map(([, flags = '']) =>
    flags.replace('"$young"', String(young)).replace('"$threads"', `${threads}2`),
  );
  assert.equal(started.length, 4);
  for (const flags of started) assert.equal(tagAfter('', flags.split(' ')), tagAfter(''), flags);
});

test('the collector frees what nothing refers to', () => {
  const reference = new WeakRef({ large: new Array(1_000) });
  return new Promise<void>((resolve) =>
    setImmediate(() => {
      garbageCollector()();
      assert.equal(reference.deref(), undefined);
      resolve();
    }),
  );
});
