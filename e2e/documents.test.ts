import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { Folder } from './harness/dataplane.ts';
import { REPOSITORY, run } from './harness/process.ts';

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];
const text = (name: string): string => readFileSync(join(REPOSITORY, name), 'utf8');

test('every link of the documents leads somewhere', () => {
  for (const name of documents) {
    for (const [, target = ''] of text(name).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^https?:/.test(target)) continue;
      assert.ok(existsSync(resolve(REPOSITORY, dirname(name), target)), `${name} links to ${target}`);
    }
  }
});

test('every path that the documents name exists', () => {
  const rooms = /^(?:shared|controller|dataplane|deploy|e2e|docs|scripts)\//;
  for (const name of documents) {
    for (const [, path = ''] of text(name).matchAll(/`([\w./*-]+)`/g)) {
      if (!rooms.test(path) || path.includes('*')) continue;
      assert.ok(existsSync(join(REPOSITORY, path)), `${name} names ${path}`);
    }
  }
});

test('every npm script that the documents name exists', () => {
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
  const known = new Set([...Object.keys(scripts), 'ci']);
  for (const name of documents)
    for (const [, script = ''] of text(name).matchAll(/npm (?:run )?(ci|start|test|check|format|bench|build)\b/g))
      assert.ok(known.has(script), `${name}: npm ${script}`);
  for (const name of ['start', 'test', 'check'])
    assert.ok(text('README.md').includes(`npm ${name}`) || text('CONTRIBUTING.md').includes(`npm run ${name}`), name);
});

test('every command that the documents show is one that the program knows', async () => {
  const { stdout } = await run(['help']);
  const known = new Set([...stdout.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, command]) => command));
  assert.ok(known.has('run') && known.has('explain'));
  for (const name of documents)
    for (const [, command = ''] of text(name).matchAll(/(?:^|`|\s)\.\/sluice ([a-z-]+)/gm))
      assert.ok(known.has(command) || command === 'help', `${name}: sluice ${command}`);
});

test('the README’s Sluicefile is valid, and says so as the README says', async () => {
  using folder = new Folder();
  const block = /```sluicefile\n([\s\S]*?)```/.exec(text('README.md'))?.[1] ?? '';
  writeFileSync(folder.file('Sluicefile'), block.replace(/^ {3}/gm, ''));
  const { code, stdout } = await run(['validate', '--config', 'Sluicefile'], {}, folder.path);
  assert.deepEqual([code, stdout.trim()], [0, 'Config valid.']);
});

test('no source file is longer than a reader’s patience, and none imports across the two processes', () => {
  const { stdout } = spawnSync('git', ['ls-files', 'shared', 'controller', 'dataplane'], { cwd: REPOSITORY, encoding: 'utf8' });
  const sources = stdout.split('\n').filter((name) => name.endsWith('.ts') && !/\.test\.ts$/.test(name));
  assert.ok(sources.length > 100);
  for (const name of sources) assert.ok(text(name).split('\n').length <= 401, `${name} has more than 400 lines`);
  for (const name of sources)
    for (const [, target = ''] of text(name).matchAll(/from '(\.[^']+)'/g)) {
      const room = (path: string) => relative(REPOSITORY, path).split('/')[0];
      const [from, to] = [room(join(REPOSITORY, name)), room(resolve(REPOSITORY, dirname(name), target))];
      if (/-fixture\.ts$/.test(name)) continue;
      assert.ok(to === from || to === 'shared', `${name} imports ${target}`);
    }
});
