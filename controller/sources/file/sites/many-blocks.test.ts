import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';

/** Lines of a site with many blocks, by what each of them has. */
const BLOCKS: Readonly<Record<string, (index: number) => string>> = {
  'that refuse requests': (index) => `  handle /p${index}/* {\n    respond 403\n  }\n`,
  'for a matcher each': (index) => `  @m${index} path /p${index}/*\n  handle @m${index} {\n    respond 403\n  }\n`,
  'with a matcher each, as their site has': (index) =>
    `  @m${index} path /q${index}/*\n  handle /p${index}/* {\n    @get method GET\n    header @get X-A b\n    respond 200\n  }\n`,
  'that redirect to the next one': (index) => `  handle /p${index}/* {\n    redir /p${index}/* /p${index + 1}/{remainder}\n  }\n`,
};
const FEW = 2_000;
const TIMES_MORE = 8;

for (const [which, block] of Object.entries(BLOCKS))
  test(`the processor time for reading blocks ${which} grows with their number, not with its square`, () => {
    const file = (blocks: number) =>
      Buffer.from(`a.example {\n  reverse_proxy 127.0.0.1:1\n${Array.from({ length: blocks }, (_, index) => block(index)).join('')}}\n`);
    const [few, many] = [file(FEW), file(FEW * TIMES_MORE)];
    const timeFor = (bytes: Buffer): number => {
      const before = process.cpuUsage();
      assert.ok(compileBytes(bytes, 'Sluicefile', {}).ok);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const quickest = (bytes: Buffer): number => Math.min(timeFor(bytes), timeFor(bytes));
    quickest(few);
    // In quadratic time it would be 64 times.
    const ratio = quickest(many) / quickest(few);
    assert.ok(ratio < 2.5 * TIMES_MORE, `${ratio.toFixed(1)} times as long for ${TIMES_MORE} times the blocks`);
  });
