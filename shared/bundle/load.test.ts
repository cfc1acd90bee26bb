import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cachePathOf, HEADER_LENGTH, ID_LENGTH, withId } from './format.ts';
import { load } from './load.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bundle-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a bundle whose id is a digit, repeated. @returns its path. */
function bundle(name: string, digit: number, body: string): string {
  const path = join(folder, name);
  writeFileSync(path, withId(`${digit}`.repeat(ID_LENGTH), `(function(exports,require,module,importMetaUrl){${body}\n})\n`));
  return path;
}

/** Writes what V8 has compiled of a bundle when it has only been loaded, in a process with V8's own flags. */
function compile(path: string): void {
  const program = `
    import { readFileSync } from 'node:fs';
    import { Script } from 'node:vm';
    import { writeCodeCache } from ${JSON.stringify(new URL('../../scripts/build/code-cache.ts', import.meta.url).href)};
    const text = readFileSync(${JSON.stringify(path)}, 'latin1');
    writeCodeCache(${JSON.stringify(path)}, text, new Script(text));
  `;
  execFileSync(process.execPath, ['--input-type=module', '--eval', program]);
}

/** Loads a bundle in a new process. @returns what it exports, and what V8 says of its code cache: undefined if it was given none. */
function loaded(path: string): { exports: unknown; rejected?: boolean } {
  const program = `
    import { syncBuiltinESMExports } from 'node:module';
    import vm from 'node:vm';
    let rejected;
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options);
        rejected = this.cachedDataRejected;
      }
    };
    syncBuiltinESMExports();
    const { load } = await import(${JSON.stringify(new URL('./load.ts', import.meta.url).href)});
    console.log(JSON.stringify({ exports: load(${JSON.stringify(path)}), rejected }));
  `;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' }));
}

test('a bundle gets what a CommonJS module gets, and its URL', () => {
  const path = bundle('one.js', 1, 'exports.url = importMetaUrl; exports.own = module.exports === exports');
  assert.deepEqual(load(path), { url: pathToFileURL(path).href, own: true });
});

test('bundles that are required run once, even if they require each other', () => {
  bundle('two.js', 2, 'exports.one = require("./one.js"); exports.runs = (globalThis.runs = (globalThis.runs ?? 0) + 1)');
  const one = load(bundle('one.js', 1, 'exports.two = require("./two.js")')) as { two: { one: unknown; runs: number } };
  assert.equal(one.two.one, one);
  assert.equal(one.two.runs, 1);
  assert.equal(load(join(folder, 'two.js')), one.two);
});

test('a bundle finds packages from where it is', () => {
  const inside = join(folder, 'node_modules/beside');
  mkdirSync(inside, { recursive: true });
  writeFileSync(join(inside, 'package.json'), '{ "main": "main.cjs" }');
  writeFileSync(join(inside, 'main.cjs'), 'exports.name = "beside"');
  assert.deepEqual(load(bundle('one.js', 1, 'exports.name = require("beside").name')), { name: 'beside' });
});

test('V8 takes the code cache of a bundle', () => {
  const path = bundle('one.js', 1, 'module.exports = (() => 1)()');
  assert.deepEqual(loaded(path), { exports: 1 });
  compile(path);
  assert.deepEqual(loaded(path), { exports: 1, rejected: false });
});

test('a code cache of another build is not used, even if its bundle had the same length', () => {
  compile(bundle('one.js', 1, 'module.exports = (() => 1)()'));
  assert.deepEqual(loaded(bundle('one.js', 2, 'module.exports = (() => 2)()')), { exports: 2 });
});

test('a code cache that is cut off is not used, wherever that is, and neither is one of which a page is missing', () => {
  const path = bundle('one.js', 1, `module.exports = (() => 1)();${'(() => [1, "a", {}])();'.repeat(500)}`);
  compile(path);
  const whole = readFileSync(cachePathOf(path));
  assert.ok(whole.length > 3 * 4_096);
  assert.deepEqual(loaded(path), { exports: 1, rejected: false });
  for (const length of [whole.length - 1, HEADER_LENGTH + 24, HEADER_LENGTH, HEADER_LENGTH - 1, 0]) {
    writeFileSync(cachePathOf(path), whole.subarray(0, length));
    assert.deepEqual(loaded(path), { exports: 1 }, `${length} of ${whole.length} bytes`);
  }
  for (let page = 0; page + 4_096 <= whole.length; page += 4_096) {
    writeFileSync(cachePathOf(path), Buffer.from(whole).fill(0, page, page + 4_096));
    assert.deepEqual(loaded(path), { exports: 1 }, `without the page at ${page}`);
  }
});

test('a bundle that has failed is run again, and so are those that are not there at first', () => {
  const path = bundle('one.js', 1, 'module.exports = require("./two.js")');
  assert.throws(() => load(path), { code: 'ENOENT' });
  bundle('two.js', 2, 'module.exports = 2');
  assert.equal(load(path), 2);
});

test('an error in a bundle is reported with its path and line', () => {
  const path = bundle('one.js', 1, '\n\nthrow new Error("broken")');
  assert.throws(
    () => load(path),
    (error: Error) => error.stack?.includes(`${path}:3:7`) === true,
  );
});
