import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const CONFIG = fileURLToPath(new URL('../biome.json', import.meta.url));
const BIOME = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url));

const FORBIDDEN: readonly [from: string, what: string][] = [
  ['shared/x.ts', '../controller/flags.ts'],
  ['shared/wire/x.ts', '../../dataplane/table/table.ts'],
  ['controller/x.ts', '../dataplane/table/table.ts'],
  ['controller/sources/file/x.ts', '../../desired/desire.ts'],
  ['controller/desired/x.ts', '../reconcile/reconciler.ts'],
  ['controller/desired/x.ts', '../sources/file/compile.ts'],
  ['controller/reconcile/x.ts', '../push/frame.ts'],
  ['controller/push/x.ts', '../status/report.ts'],
  ['controller/status/x.ts', '../push/pusher.ts'],
  ['dataplane/x.ts', '../controller/flags.ts'],
  ['dataplane/traffic/x.ts', '../table/table.ts'],
  ['dataplane/traffic/codec/x.ts', '../../publish/publisher.ts'],
  ['dataplane/ledger/x.ts', '../traffic/serve.ts'],
  ['dataplane/workers/x.ts', '../publish/publisher.ts'],
  ['dataplane/publish/x.ts', '../table/table.ts'],
  ['dataplane/table/x.ts', '../workers/workers.ts'],
  ['dataplane/table/x.ts', '../admin/admin.ts'],
  ['dataplane/metrics/x.ts', '../traffic/serve.ts'],
  ['dataplane/admin/x.ts', '../workers/workers.ts'],
];

const ALLOWED: readonly [from: string, what: string][] = [
  ['controller/desired/x.ts', '../sources/source.ts'],
  ['controller/push/x.ts', '../reconcile/reconciler.ts'],
  ['dataplane/traffic/x.ts', '../ledger/ledger.ts'],
  ['dataplane/traffic/match/x.ts', '../../../shared/settings.ts'],
  ['dataplane/metrics/x.ts', '../traffic/protocol.ts'],
  ['dataplane/table/x.ts', '../publish/publisher.ts'],
  ['dataplane/dataplane.ts', './admin/admin.ts'],
];

/** Lints a tree that holds one file a case. @returns the files that were complained about. */
function complaints(cases: readonly (readonly [from: string, what: string])[]): ReadonlySet<string> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'edges-')));
  try {
    copyFileSync(CONFIG, join(directory, 'biome.json'));
    for (const [number, [from, what]] of cases.entries()) {
      const path = join(directory, numbered(from, number));
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `import '${what}';\n`);
    }
    const argv = ['lint', '--only=style/noRestrictedImports', '--max-diagnostics=none', '--reporter=github'];
    const { stdout } = spawnSync(BIOME, argv, { cwd: directory, encoding: 'utf8' });
    return new Set(
      [...stdout.matchAll(/title=lint\/style\/noRestrictedImports,file=([^,]+),/g)].map(([, file]) => relative(directory, file as string)),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** `dataplane.ts` is known by its name; any other file may carry a number. */
const numbered = (from: string, number: number): string => from.replace(/\/x\.ts$/, `/x${number}.ts`);

test('every forbidden import is an error of the linter, and every allowed one passes', () => {
  const all = [...FORBIDDEN, ...ALLOWED];
  const flagged = complaints(all);
  const wrong = all.filter(([from], number) => flagged.has(numbered(from, number)) !== number < FORBIDDEN.length);
  assert.deepEqual(wrong, []);
});
