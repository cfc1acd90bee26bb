import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { COMMANDS } from '../../controller/cli/commands.ts';
import { CONTROLLER_FLAGS } from '../../controller/flags.ts';
import { compileBytes } from '../../controller/sources/file/compile.ts';
import { formatDiagnostic } from '../../controller/sources/file/diagnostics/diagnostics.ts';
import {
  CADDY_DIRECTIVES,
  CADDY_GLOBALS,
  CADDY_REVERSE_PROXY,
  CADDY_TLS,
  CADDY_TRANSPORT,
} from '../../controller/sources/file/directives/caddy-words.ts';
import { readLabels } from '../../controller/sources/labels/read-labels.ts';
import { DATAPLANE_FLAGS } from '../../dataplane/settings/flags.ts';
import type { Flag } from '../../shared/runtime/flags.ts';
import { Folder } from '../testing/dataplane.ts';
import { REPOSITORY, run } from '../testing/process.ts';

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];
const text = (name: string): string => readFileSync(join(REPOSITORY, name), 'utf8');

test('every link in the documentation has a target', () => {
  for (const name of documents) {
    for (const [, target = ''] of text(name).matchAll(/\]\(([^)#\s]+)[^)]*\)/g)) {
      if (/^https?:/.test(target)) continue;
      assert.ok(existsSync(resolve(REPOSITORY, dirname(name), target)), `${name} links to ${target}`);
    }
  }
});

test('every path in the documentation exists', () => {
  const rooms = /^(?:shared|controller|dataplane|deploy|e2e|docs|scripts)\//;
  for (const name of documents) {
    const words = shellOf(text(name)).flatMap((line) => line.split(/[\s='"]+/));
    const quoted = [...text(name).matchAll(/`([\w./*-]+)`/g)].map(([, path = '']) => path);
    for (const path of [...quoted, ...words]) {
      if (!rooms.test(path) || path.includes('*')) continue;
      assert.ok(existsSync(join(REPOSITORY, path)), `${name} names ${path}`);
    }
  }
});

test('every decision has a date, a status and its sections, and a superseded one and its successor name each other', () => {
  const decisions = documents.filter((name) => /^docs\/decisions\/\d/.test(name));
  const head = /^# .+\n\nDate: \d{4}-\d\d-\d\d · Status: ((?:accepted|superseded)[\s\S]*?)\n\n## /;
  for (const name of decisions) {
    const status = head.exec(text(name))?.[1];
    assert.ok(status !== undefined, `${name} begins with a title and a line 'Date: … · Status: …'`);
    const sections = [...text(name).matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    assert.deepEqual(sections, ['Context', 'Decision', 'Alternatives considered', 'Consequences'], name);
    const [, number = ''] = /(\d{4})-[^/]*$/.exec(name) ?? [];
    const [, successor] = /^superseded by \[(\d{4})\]/.exec(status) ?? [];
    if (status.startsWith('superseded'))
      assert.ok(
        decisions.some((other) => other.includes(`/${successor}-`) && text(other).includes(`supersedes [${number}](`)),
        `${name} names its successor, whose status says that it supersedes [${number}]`,
      );
  }
  assert.equal(new Set(decisions.map((name) => name.slice(0, 'docs/decisions/0000'.length))).size, decisions.length);
});

test('every npm script in the documentation exists', () => {
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
  const known = new Set([...Object.keys(scripts), 'ci']);
  for (const name of documents)
    for (const [, script = ''] of text(name).matchAll(/npm (?:run )?(ci|start|test|check|format|bench|build)\b/g))
      assert.ok(known.has(script), `${name}: npm ${script}`);
  for (const name of ['start', 'test', 'check'])
    assert.ok(text('README.md').includes(`npm ${name}`) || text('CONTRIBUTING.md').includes(`npm run ${name}`), name);
});

/** The shell lines of a document, with continuation lines joined. */
const shellOf = (document: string): string[] =>
  [...document.matchAll(/```(?:sh|bash)\n([\s\S]*?)```/g)].flatMap(([, block = '']) => block.replace(/\\\n\s*/g, ' ').split('\n'));

/** `sluice COMMAND …` in the documents: in a shell line or in backquotes. After `-n` it is a namespace. */
function shownCommands(document: string): { command: string; flags: string[] }[] {
  const shell = shellOf(document);
  const inline = [...document.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...shell, ...inline].flatMap((line) =>
    [...line.matchAll(/(?:^|\s|\()(?<!-n )(?:\.\/)?sluice ([a-z][a-z-]*)(?=\s|$|\))([^|;&]*)/g)].map(([, command = '', rest = '']) => ({
      command,
      flags: [...rest.matchAll(/(?<=\s)--([a-z-]+)/g)].map(([, flag = '']) => flag),
    })),
  );
}

test('every command and flag in the documentation exists', async () => {
  const processes: Record<string, readonly Flag[]> = {
    dataplane: DATAPLANE_FLAGS,
    controller: CONTROLLER_FLAGS,
    run: [...CONTROLLER_FLAGS, ...DATAPLANE_FLAGS],
  };
  let seen = 0;
  for (const name of documents)
    for (const { command, flags } of shownCommands(text(name))) {
      seen++;
      if (command === 'help') continue;
      const entry = COMMANDS[command];
      assert.ok(entry, `${name}: sluice ${command}`);
      const known = processes[command] ?? (await entry.load?.())?.flags;
      for (const flag of flags)
        assert.ok(flag === 'help' || known === undefined || known.some((one) => one.name === flag), `${name}: sluice ${command} --${flag}`);
    }
  assert.ok(seen > 20, `${seen} commands`);
});

test('every flag that a Sluicefile error mentions exists', () => {
  const known = new Set([...CONTROLLER_FLAGS, ...DATAPLANE_FLAGS].map(({ name }) => name));
  const tables = [CADDY_DIRECTIVES, CADDY_GLOBALS, CADDY_REVERSE_PROXY, CADDY_TLS, CADDY_TRANSPORT];
  const sentences = tables.flatMap((table) => [...table.values()]);
  const named = sentences.flatMap((sentence) => [...sentence.matchAll(/--([a-z-]+)/g)].map(([, flag = '']) => flag));
  assert.ok(named.length > 0);
  for (const flag of named) assert.ok(known.has(flag), flag);
});

test('every Sluicefile in the documentation is valid', () => {
  for (const name of documents.filter((one) => !one.endsWith('reference/sluicefile.md'))) {
    for (const [, block = ''] of text(name).matchAll(/^ *```sluicefile\n([\s\S]*?)```/gm)) {
      const compiled = compileBytes(Buffer.from(block), name, {});
      assert.ok(compiled.ok, compiled.ok ? '' : `${compiled.diagnostics.map(formatDiagnostic).join('\n')}\n${block}`);
    }
  }
});

test('the README’s Sluicefile is valid, with the output that the README shows', async () => {
  using folder = new Folder();
  const block = /```sluicefile\n([\s\S]*?)```/.exec(text('README.md'))?.[1] ?? '';
  writeFileSync(folder.file('Sluicefile'), block.replace(/^ {3}/gm, ''));
  const { code, stdout } = await run(['validate', '--config', 'Sluicefile'], {}, folder.path);
  assert.deepEqual([code, stdout.trim()], [0, 'Config valid.']);
});

test('no source file exceeds the maximum length or imports across the two processes', () => {
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

test('every label with a value that a guide names is read as such', () => {
  const LABEL = /^ *(sluice\.[\w.-]+): (.+)$|`(sluice\.[\w.-]+)=([^`]+)`/gm;
  for (const name of documents.filter((document) => /^docs\/[\w-]+\.md$/.test(document))) {
    for (const [shown, key, value = '', quotedKey, quotedValue = value] of text(name).matchAll(LABEL)) {
      const label = { [key ?? quotedKey ?? '']: quotedValue.replaceAll('"', '') };
      // A label of a second site, as in sluice.admin.port, needs a domain of that site.
      const [site] = /^sluice\.(\w+)\.(?:domain|port)$/.exec(key ?? quotedKey ?? '')?.slice(1) ?? [];
      const domain = site === undefined ? 'sluice.domain' : `sluice.${site}.domain`;
      const { bad, warnings } = readLabels({ [domain]: 'a.test', ...label });
      assert.deepEqual([...bad.flatMap(({ reasons }) => reasons), ...warnings], [], `${name}: ${shown.trim()}`);
    }
  }
});
