import { writeFileSync } from 'node:fs';
import type { Script } from 'node:vm';
import { cachePathOf, idOf } from '../../shared/bundle/format.ts';

/** Writes the code cache of a bundle: what V8 has compiled of its script until now. */
export function writeCodeCache(path: string, text: string, script: Script): void {
  writeFileSync(cachePathOf(path), Buffer.concat([Buffer.from(idOf(text), 'latin1'), script.createCachedData()]));
}
