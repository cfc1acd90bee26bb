import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkout } from '../testing/checkout.ts';
import { Folder } from '../testing/dataplane.ts';
import { Program } from '../testing/process.ts';

const STAMP = 'node_modules/.installed-lockfile';

/** A checkout with all packages, and an npm that records its calls and fails as without a network. */
function scene(folder: Folder) {
  const root = folder.file('sluice');
  checkout(root);
  const npm = `#!/bin/sh\necho "$@" >> ${folder.file('calls')}\n[ "$1" = config ] && echo https://registry.example/ || exit 1\n`;
  writeFileSync(folder.file('npm'), npm, { mode: 0o755 });
  const install = async () => {
    await using program = new Program('sh', ['scripts/install.sh'], { PATH: `${folder.path}:${process.env.PATH}` }, root);
    return { ...(await program.exited), stderr: program.stderr };
  };
  return { root, install, calls: () => (existsSync(folder.file('calls')) ? readFileSync(folder.file('calls'), 'utf8') : '') };
}

test('packages installed with npm ci are not installed again', async () => {
  using folder = new Folder();
  const { root, install, calls } = scene(folder);
  rmSync(`${root}/${STAMP}`);
  for (let times = 0; times < 2; times++) assert.equal((await install()).code, 0);
  assert.equal(calls(), '');
  assert.ok(existsSync(`${root}/${STAMP}`));
});

test('a different version in the lockfile is installed, and without a network that fails quickly and names what is missing', async () => {
  using folder = new Folder();
  const { root, install, calls } = scene(folder);
  const lock = `${root}/package-lock.json`;
  const before = readFileSync(lock, 'utf8');
  const packages = JSON.parse(before) as { packages: Record<string, { version?: string }> };
  (packages.packages['node_modules/pino'] ?? assert.fail()).version = '99.0.0';
  writeFileSync(lock, JSON.stringify(packages));
  const { code, stderr } = await install();
  assert.equal(code, 1);
  assert.match(stderr, /^The packages could not be installed.* https:\/\/registry\.example\/: can this machine reach it\?$/m);
  assert.match(calls(), /^ci .*--fetch-retries=1 /);
});
