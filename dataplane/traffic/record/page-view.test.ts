import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleExchange } from '../testing/samples/sample-exchange.ts';
import { isPageView } from './page-view.ts';

type Seen = { method?: string; path?: string; status?: number; dest?: string | null; type?: string | null };

const viewed = ({ method = 'GET', path = '/', status = 200, dest = null, type = 'text/html' }: Seen): boolean => {
  const x = sampleExchange({ method, target: path, kept: '', length: 0, chunked: false });
  x.status = status;
  x.contentType = type;
  return isPageView(Object.assign(x, { fetchDestination: dest }), path);
};

test('only a GET with a success or 304 is a page view', () => {
  for (const status of [200, 203, 206, 304]) assert.ok(viewed({ status }), `${status}`);
  for (const status of [101, 301, 302, 307, 400, 404, 499, 500, 503]) assert.ok(!viewed({ status }), `${status}`);
  for (const method of ['POST', 'HEAD', 'PUT', 'OPTIONS']) assert.ok(!viewed({ method }), method);
});

test('the browser’s destination of the request decides first', () => {
  for (const dest of ['document', 'iframe', 'frame', 'empty']) assert.ok(viewed({ dest }), dest);
  for (const type of ['application/json', 'text/plain', null]) assert.ok(!viewed({ dest: 'empty', type }), `fetched ${type}`);
  for (const dest of [
    'script',
    'style',
    'image',
    'font',
    'audio',
    'video',
    'track',
    'manifest',
    'worker',
    'serviceworker',
    'embed',
    'object',
    'json',
  ])
    assert.ok(!viewed({ dest }), dest);
});

test('the type of the response decides next', () => {
  for (const type of ['text/html; charset=utf-8', 'application/xhtml+xml', 'application/pdf', 'text/plain', 'application/json'])
    assert.ok(viewed({ type }), type);
  for (const type of [
    ...['image/png', 'IMAGE/svg+xml', 'font/woff2', 'application/font-woff', 'audio/mpeg', 'video/mp4', 'text/css; charset=utf-8'],
    ...['text/javascript', 'application/javascript', 'application/x-javascript', 'application/wasm', 'application/manifest+json'],
  ])
    assert.ok(!viewed({ type }) && !viewed({ type, dest: 'document' }), type);
});

test('the extension decides if there is no type, as in a 304', () => {
  for (const path of ['/a.css', '/a.JS', '/x/a.mjs', '/favicon.ico', '/a.woff2', '/a.jpeg', '/a.mp4', '/site.webmanifest'])
    assert.ok(!viewed({ status: 304, type: null, path }), path);
  for (const path of ['/', '/about', '/a.html', '/a.css/', '/css', '/v1.2']) assert.ok(viewed({ status: 304, type: null, path }), path);
  assert.ok(viewed({ path: '/a.css', type: 'text/html' }));
});
