import { appendFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { sourceContract } from '../testing/source-contract.ts';
import { createFileSource } from './source.ts';
import { temporary } from './testing/file-source.ts';

sourceContract('file', async (t, clock) => {
  const path = join(await temporary(t), 'Sluicefile');
  const set = async (...domains: string[]) => {
    await writeFile(`${path}.new`, domains.map((domain) => `${domain} {\n  reverse_proxy 127.0.0.1:9000\n}\n`).join(''));
    await rename(`${path}.new`, path);
  };
  await set();
  return {
    source: createFileSource({ path, clock, log: memoryLog(), env: {} }),
    set,
    addMistaken: (domain) => appendFile(path, `${domain} {\n  revers_proxy 127.0.0.1:9000\n}\n`),
    fail: () => rm(path),
    recover: () => set('a.example'),
  };
});
