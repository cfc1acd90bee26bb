import { writeFileSync } from 'node:fs';
import type { Script } from 'node:vm';
import { cachePathOf, headerOf } from '../../shared/bundle/format.ts';

/** Writes the code cache of a bundle: what V8 has compiled of its script until now. */
export function writeCodeCache(path: string, text: string, script: Script): void {
  const data = script.createCachedData();
  writeFileSync(cachePathOf(path), Buffer.concat([Buffer.from(headerOf(text, data)), data]));
}
