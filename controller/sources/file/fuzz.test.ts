import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseRoute } from '../../../shared/route.ts';
import { parseGlobals } from '../../../shared/settings.ts';
import { accepted, refused } from '../../../shared/values/parsed.ts';
import { compileBytes } from './compile.ts';
import { formatDiagnostic } from './diagnostics/diagnostics.ts';
import { type PseudoRandom, pseudoRandom } from './testing/pseudo-random.ts';
import type { Files } from './text/files.ts';

const ENV = { NAME: 'sluice', HOST: 'app', DOMAINS: 'c.example, d.example' };
const ROUNDS = 3_000;

const seeds = ['golden/adapt/', 'golden/mistakes/'].flatMap((directory) => {
  const at = new URL(directory, import.meta.url);
  return readdirSync(at)
    .filter((file) => file.endsWith('.sluicefile'))
    .map((file) => readFileSync(new URL(file, at)));
});

const WORDS =
  '{ } { } \n \n \n " ` # , \\ {$NAME} {$NO:x} {$ {host} a.example *.b.example * c.example: reverse_proxy app:80 https://app:1 rate_limit 5/s redir /a /b/* /c 301 header -X X-Y respond 200 ok handle handle_path /api/* /api/ tls off http_port 8080 email a@b trusted_proxies ::1/64 drain_timeout 5s import @m @m @n path method GET not query a=b remote_ip !X-A basic_auth (s) s d/* d/one {args[0]} {args[:]} {args.1} é 😀 \0 \r \ufeff'.split(
    ' ',
  );

/** Imported files: valid ones, broken ones, and some that import in circles. */
const FILES = new Map([
  ['s', 'import {args[:]}\nrespond {args[0]}'],
  ['d/one', 'b.example { import ../s d/two\n}'],
  ['d/two', 'handle { import one }\nimport ../Sluicefile\n}'],
]);

function inMemory(main: Buffer): Files {
  const all = new Map<string, Buffer>([...FILES].map(([path, text]) => [path, Buffer.from(text)])).set('Sluicefile', main);
  return {
    read: (path) => {
      const bytes = all.get(path);
      return bytes ? accepted(bytes) : refused('there is no such file');
    },
    glob: () => accepted(['d/one', 'd/two']),
  };
}

function checked(bytes: Buffer): 'ok' | 'refused' {
  const compiled = compileBytes(bytes, 'Sluicefile', ENV, inMemory(bytes));
  if (compiled.ok) {
    for (const route of compiled.routes) assert.deepEqual(parseRoute(route), { ok: true, value: route });
    assert.deepEqual(parseGlobals(compiled.globals), { ok: true, value: compiled.globals });
    return 'ok';
  }
  assert.ok(compiled.diagnostics.length > 0);
  for (const diagnostic of compiled.diagnostics) {
    assert.doesNotMatch(formatDiagnostic(diagnostic), /[\r\n]/);
    if (!diagnostic.place) continue;
    const { line, column } = diagnostic.place;
    const lines = (FILES.get(diagnostic.path) ?? bytes.toString('utf8')).split('\n');
    assert.ok(line >= 1 && line <= lines.length, `line ${line} of ${lines.length}`);
    assert.ok(column >= 1 && column <= [...(lines[line - 1] ?? '')].length + 1, `column ${column} in line ${line}`);
  }
  return 'refused';
}

function fuzz(name: string, make: (random: PseudoRandom) => Buffer): void {
  test(`${name}: always valid routes, or diagnostics with positions in the file`, () => {
    const outcomes = { ok: 0, refused: 0 };
    for (let seed = 1; seed <= ROUNDS; seed++) {
      const bytes = make(pseudoRandom(seed * 7_919));
      try {
        outcomes[checked(bytes)]++;
      } catch (error) {
        throw new Error(`seed ${seed}: ${JSON.stringify(bytes.toString('latin1'))}`, { cause: error });
      }
    }
    assert.ok(outcomes.refused > 0);
  });
}

fuzz('random bytes', (random) => Buffer.from(Array.from({ length: random(200) }, () => random(256))));

fuzz('random words of the language', (random) =>
  Buffer.from(Array.from({ length: random(60) }, () => WORDS[random(WORDS.length)]).join(random(8) === 0 ? '' : ' ')),
);

fuzz('sites of random directives', (random) => {
  const words = (count: number) => Array.from({ length: count }, () => WORDS[random(WORDS.length)]).join(' ');
  return Buffer.from(`a.example {\n respond ok\n ${words(random(6))}\n}\n${words(random(3))} {\n handle {\n ${words(random(5))} \n}\n}\n`);
});

fuzz('valid and invalid files with a few bytes changed', (random) => {
  const bytes = Buffer.from(seeds[random(seeds.length)] ?? '');
  let edited = bytes;
  for (let edits = random(4) + 1; edits > 0; edits--) {
    const at = random(edited.length + 1);
    const kind = random(3);
    const middle = kind === 0 ? Buffer.from([random(256)]) : kind === 1 ? Buffer.from(WORDS[random(WORDS.length)] ?? '') : Buffer.alloc(0);
    edited = Buffer.concat([edited.subarray(0, at), middle, edited.subarray(at + (kind === 1 ? 0 : random(5)))]);
  }
  return edited;
});
