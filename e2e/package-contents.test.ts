import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { REPOSITORY } from './harness/process.ts';

test('the package contains the documentation, licence and launcher, and no sources', () => {
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: REPOSITORY, encoding: 'utf8' });
  const found = JSON.parse(told) as { files: { path: string }[] }[] | Record<string, { files: { path: string }[] }>;
  const paths = new Set(Object.values(found).flatMap(({ files }) => files.map(({ path }) => path)));
  const documents = readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  for (const path of [
    'sluice',
    'LICENSE',
    'README.md',
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

test('a build contains the licenses of the packages in it, and ASCII only, which Node keeps in half the memory', (t) => {
  const dist = mkdtempSync(join(tmpdir(), 'dist-'));
  t.after(() => rmSync(dist, { recursive: true }));
  execFileSync(process.execPath, ['scripts/build.ts', dist], { cwd: REPOSITORY });
  const licenses = readFileSync(join(dist, 'licenses.txt'), 'utf8');
  for (const bundled of ['zod', 'pino', 'http-proxy-3', 'prom-client']) assert.match(licenses, new RegExp(`^${bundled} \\d+\\.\\d+`, 'm'));
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js')))
    assert.match(readFileSync(join(dist, name), 'utf8'), /^[\x00-\x7f]*$/, name);
});
