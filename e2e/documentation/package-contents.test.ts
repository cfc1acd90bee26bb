import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Script } from 'node:vm';
import { cachePathOf, HEADER_LENGTH, headerOf } from '../../shared/bundle/format.ts';
import { REPOSITORY } from '../testing/process.ts';

test('the package contains the documentation, licence and launcher, and no sources', () => {
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: REPOSITORY, encoding: 'utf8' });
  const found = JSON.parse(told) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
  const paths = new Set(Object.values(found).flatMap(({ files }) => files.map(({ path }) => path)));
  const documents = readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  for (const path of [
    'sluice',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'SECURITY.md',
    'deploy/systemd/sluice.service',
    'deploy/grafana/dashboard.json',
    'deploy/grafana/alerts.yml',
    'package.json',
    ...documents.map((name) => `docs/${name}`),
  ])
    assert.ok(paths.has(path), path);
  for (const path of paths) assert.doesNotMatch(path, /^(?:controller|dataplane|shared|e2e)\/|\.test\./);
});

describe('a build', () => {
  let dist: string;
  before(() => {
    // What was built is run, and needs its packages.
    dist = mkdtempSync(join(REPOSITORY, 'node_modules/.dist-'));
    execFileSync(process.execPath, ['scripts/build.ts', dist], { cwd: REPOSITORY });
  });
  after(() => rmSync(dist, { recursive: true }));
  const scripts = () => readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));
  const textOf = (name: string) => readFileSync(join(dist, name), 'utf8');

  test('contains the licenses of the packages in it, and ASCII only, which Node keeps in half the memory', () => {
    const licenses = textOf('licenses.txt');
    for (const bundled of ['zod', 'pino', 'http-proxy-3', 'prom-client', '@kubernetes/client-node'])
      assert.match(licenses, new RegExp(`^${bundled} \\d+\\.\\d+`, 'm'));
    for (const name of scripts()) assert.match(textOf(name), /^[\x00-\x7f]*$/, name);
  });

  test('requires the modules of Node, also in packages: an import reads all exports, and those of node:http load fetch and WebSocket', () => {
    for (const name of scripts()) {
      const imported = textOf(name).matchAll(/\bimport\b(?:[^;"'()]*\bfrom)?\s*\(?["']([a-z:/_]+)["']/g);
      const builtin = [...imported].map(([, from = '']) => from).filter(isBuiltin);
      assert.deepEqual(builtin, [], name);
    }
  });

  test('has bundles in strict mode, as modules are', () => {
    const bundles = scripts()
      .map(textOf)
      .filter((text) => text.startsWith('/*'));
    assert.ok(bundles.length > 20);
    for (const text of bundles) assert.match(text.slice(0, 200), /^\/\*\w{32}\*\/\(function\([\w,]+\)\{'use strict';/);
  });

  test('has a code cache of each bundle, which V8 accepts as long as it has the flags that processes are started with', () => {
    const bundles = scripts().filter((name) => textOf(name).startsWith('/*'));
    assert.ok(bundles.includes('dataplane/traffic/worker/worker.bundle.js'));
    for (const name of bundles) {
      const cache = readFileSync(cachePathOf(join(dist, name)));
      const [header, cachedData] = [cache.toString('latin1', 0, HEADER_LENGTH), cache.subarray(HEADER_LENGTH)];
      assert.equal(header, headerOf(textOf(name), cachedData), name);
      assert.equal(new Script(textOf(name), { cachedData }).cachedDataRejected, false, name);
    }
  });

  test('has what a start calls in the code caches of each process and of the workers', () => {
    for (const name of ['controller/cli/run/main', 'controller/main', 'dataplane/main', 'dataplane/traffic/worker/worker']) {
      const path = join(dist, `${name}.bundle.js`);
      // Another text than that of the test before, of which V8 still has all functions.
      const loaded = new Script(`${readFileSync(path, 'latin1')}\n`).createCachedData().length;
      const recorded = readFileSync(cachePathOf(path)).length;
      assert.ok(recorded > 1.2 * loaded, `${name}: ${recorded} and ${loaded} bytes`);
    }
  });

  test('reads kubeconfigs without the classes of the objects of a cluster', () => {
    const [library, ...others] = scripts().filter((name) => textOf(name).includes('loadFromClusterAndUser('));
    assert.ok(library);
    assert.match(library, /^controller\/kube-config-\w+\.js$/);
    assert.deepEqual(others, []);
    assert.doesNotMatch(textOf(library), /\bV1Pod\b|\bCoreV1Api\b/);
  });
});
