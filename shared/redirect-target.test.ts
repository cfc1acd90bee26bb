import assert from 'node:assert/strict';
import { test } from 'node:test';
import { templateParts } from './placeholders/template.ts';
import { faultOfTarget, targetShape } from './redirect-target.ts';

const shapeOf = (target: string) => targetShape(templateParts(target, 'request'));

test('rejects a target whose host a client could choose', () => {
  for (const target of [
    'https://{remainder}',
    'https://{path}/x',
    '//{query}',
    '/\\/{remainder}',
    'http:/\\/{uri}',
    '{scheme}://{remainder}',
    'https:///{remainder}',
    'https://{remainder}.b.test/',
  ])
    assert.match(faultOfTarget(target) ?? '', /must not be able to choose the host/, target);
  for (const target of ['https:{path}', 'javascript:{query}', 'https:/{remainder}', 'mailto:{query}'])
    assert.match(faultOfTarget(target) ?? '', /needs "\/\/" and a host/, target);
});

test('a host written by the site ends before any text from the client', () => {
  const table: [target: string, open: number][] = [
    ['https://b.test{remainder}', 1],
    ['https://{host}{uri}', 2],
    ['https://{host}:8443{path}', 3],
    ['//b.test{query}', 1],
    ['https://www.{host}.b.test{remainder}/x', 3],
    ['{scheme}://www.{host}{uri}', 3],
    ['https://{labels.1}.{labels.0}{uri}', 4],
    ['https://{hostport}{uri}', 2],
  ];
  for (const [target, open] of table) assert.deepEqual(shapeOf(target), { kind: 'url', open }, target);
});

test('a path that may start with text from the client is `local`; one that starts with the site’s own text is not', () => {
  for (const target of ['/{remainder}', '{path}', '{host}/x', '/%09{uri}', '/%2f{path}', '{scheme}{uri}'])
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
    '\\{host}/x',
    '/\\{remainder}',
    'mailto:a@b.test',
  ])
    assert.deepEqual(shapeOf(target), { kind: 'fixed' }, target);
});
