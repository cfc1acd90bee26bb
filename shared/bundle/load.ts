import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { cachePathOf, HEADER_LENGTH, headerOf } from './format.ts';

/** A bundle is a function in parentheses, with the parameters of a CommonJS module, and the URL that sources find other files by. */
type Bundle = (exports: unknown, require: (id: string) => unknown, module: Module, url: string) => void;
type Module = { exports: unknown };

const modules = new Map<string, Module>();

/**
 * Runs a bundle and those that it requires, each once, as Node does with CommonJS modules. V8 compiles nothing that is in the code cache of a
 * bundle. Without one, or with that of another build, Node or processor, everything works, and a start takes longer.
 * @returns what the bundle exports.
 */
export function load(path: string): unknown {
  const known = modules.get(path);
  if (known !== undefined) return known.exports;
  const text = readFileSync(path, 'latin1');
  const cachedData = cacheOf(path, text);
  const script = new Script(text, { filename: path, ...(cachedData && { cachedData }) });
  const module: Module = { exports: {} };
  modules.set(path, module);
  const fromNode = createRequire(path);
  const require = (id: string): unknown => (id.startsWith('.') ? load(join(dirname(path), id)) : fromNode(id));
  try {
    (script.runInThisContext() as Bundle)(module.exports, require, module, pathToFileURL(path).href);
  } catch (error) {
    modules.delete(path);
    throw error;
  }
  return module.exports;
}

function cacheOf(path: string, text: string): Buffer | null {
  let cache: Buffer;
  try {
    cache = readFileSync(cachePathOf(path));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  const data = cache.subarray(HEADER_LENGTH);
  return cache.toString('latin1', 0, HEADER_LENGTH) === headerOf(text, data) ? data : null;
}
