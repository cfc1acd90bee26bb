import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';

const compiled = (lines: string) => compileBytes(Buffer.from(`a.example {\n  path_case sensitive\n${lines}}\n`), 'Sluicefile', {});
const group = (head: string, upstream: string): string => `  split ${head} {\n    reverse_proxy ${upstream}\n  }\n`;

function handlesOf(lines: string) {
  const result = compiled(lines);
  assert.ok(result.ok, result.ok ? '' : result.diagnostics.map(formatDiagnostic).join('\n'));
  return result.routes[0]?.handles.map(({ path, match, upstreams }) => [path, match, upstreams?.map(({ address }) => address).join(' ')]);
}

test('groups divide the requests by their weights, which need not add up to anything and say nothing about targets', () => {
  assert.deepEqual(handlesOf(`${group('3', 'a:1 b:1 c:1') + group('1', 'd:1')}  split_by cookie version\n`), [
    [null, { name: 'split 3 of 4', share: { from: 0, to: 3, of: 4, by: 'cookie', name: 'version' } }, 'a:1 b:1 c:1'],
    [null, { name: 'split 1 of 4', share: { from: 3, to: 4, of: 4, by: 'cookie', name: 'version' } }, 'd:1'],
  ]);
});

test('each path and matcher has groups of its own, between other blocks', () => {
  const beta = '  @beta header X-Beta 1\n';
  const lines = `${beta}${group('/api/* 90', 'a:1')}  handle /fixed {\n    respond "x"\n  }\n${group('/api/* 10', 'b:1')}${group('@beta 1', 'c:1')}${group('@beta 1', 'd:1')}`;
  assert.deepEqual(
    handlesOf(lines)?.map(([path, match]) => [path, JSON.stringify(match)]),
    [
      ['/api/*', '{"name":"/api/* 90 of 100","share":{"from":0,"to":90,"of":100}}'],
      ['/fixed', undefined],
      ['/api/*', '{"name":"/api/* 10 of 100","share":{"from":90,"to":100,"of":100}}'],
      [null, '{"name":"@beta 1 of 2","header":[{"name":"X-Beta","values":["1"]}],"share":{"from":0,"to":1,"of":2}}'],
      [null, '{"name":"@beta 1 of 2","header":[{"name":"X-Beta","values":["1"]}],"share":{"from":1,"to":2,"of":2}}'],
    ],
  );
});

for (const [lines, mistake] of [
  [group('90', 'a:1'), '3:3: a single split divides nothing: write another one, or handle'],
  [group('0', 'a:1') + group('0', 'b:1'), '3:3: all groups of this split have the weight 0, so none would get a request'],
  [group('90%', 'a:1') + group('10', 'b:1'), '3:9: split "90%": a weight is a number from 0 to 10000, without a sign'],
  [group('api 90', 'a:1') + group('10', 'b:1'), '3:9: split "api": '],
  ['  split 90\n', '3:3: split '],
  ['  split {\n  }\n', '3:3: split is missing an argument'],
  [
    `  split_by ip\n${group('1', 'a:1')}${group('1', 'b:1')}`,
    '3:12: split_by "ip": write split_by request|address|cookie [<name>]|header <name>',
  ],
  [
    '  split_by cookie\n  reverse_proxy a:1\n',
    '3:3: split_by divides nothing without groups: write split [<path-pattern>|<matcher>] <weight> { … }',
  ],
  [`  split_by header\n${group('1', 'a:1')}${group('1', 'b:1')}`, '3:12: split_by header needs the name of the header'],
  [`  split_by address x\n${group('1', 'a:1')}${group('1', 'b:1')}`, '3:20: "x" is one argument too many for split_by address'],
  [
    `${group('1', 'a:1')}${group('1', 'b:1')}  handle /x {\n    respond "x"\n  }\n`,
    '9:10: this block is never reached: the split without a pattern in line 3 matches first',
  ],
  [
    `  handle {\n    respond "x"\n  }\n${group('1', 'a:1')}${group('1', 'b:1')}`,
    '6:3: this group is never reached: the block in line 3 matches first',
  ],
  [
    `${group('1', 'a:1')}${group('1', 'b:1')}${group('/x 1', 'c:1')}${group('/x 1', 'd:1')}`,
    '9:9: this group is never reached: the block in line 3 matches first',
  ],
] as const)
  test(`${JSON.stringify(lines)} is an error`, () => {
    const result = compiled(lines);
    const text = result.ok ? 'accepted' : result.diagnostics.map(formatDiagnostic).join('\n');
    assert.ok(text.includes(mistake), text);
  });
