import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfTarget, targetParts, targetShape } from './redirect-target.ts';

const shapeOf = (target: string) => targetShape(targetParts(target));

test('a target whose host a visitor could choose is refused', () => {
  for (const target of [
    'https://{remainder}',
    'https://{path}/x',
    '//{query}',
    '/\\{remainder}',
    'http:\\\\{uri}',
    'https:///{remainder}',
    'https://{remainder}.b.test/',
  ])
    assert.match(faultOfTarget(target) ?? '', /must not choose the host/, target);
  for (const target of ['https:{path}', 'javascript:{query}', 'https:/{remainder}', 'mailto:{query}'])
    assert.match(faultOfTarget(target) ?? '', /has "\/\/" and a host/, target);
});

test('a host that the site has written ends before anything that a visitor wrote', () => {
  const table: [target: string, open: number][] = [
    ['https://b.test{remainder}', 1],
    ['https://{host}{uri}', 2],
    ['https://{host}:8443{path}', 3],
    ['//b.test{query}', 1],
    ['https://www.{host}.b.test{remainder}/x', 3],
  ];
  for (const [target, open] of table) assert.deepEqual(shapeOf(target), { kind: 'url', open }, target);
});

test('paths of which a visitor may write the beginning are told from those that the site begins', () => {
  for (const target of ['/{remainder}', '{path}', '{host}/x', '/%09{uri}', '\\{uri}', '/%2f{path}'])
    assert.deepEqual(shapeOf(target), { kind: 'local' }, target);
  for (const target of [
    '/new',
    '/new/{remainder}',
    '/?{query}',
    'https://b.test/{remainder}',
    'https://{host}/x{path}',
    'https://{host}?{query}',
    '//b.test/',
    'new/{remainder}',
    '{unknown}/x',
    'mailto:a@b.test',
  ])
    assert.deepEqual(shapeOf(target), { kind: 'fixed' }, target);
});
