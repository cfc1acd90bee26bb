import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mediaTypeOf } from './media-type.ts';

for (const [names, type] of [
  ['index.html a.HTM', 'text/html; charset=utf-8'],
  ['a.css', 'text/css; charset=utf-8'],
  ['a.js a.mjs a.min.js', 'text/javascript; charset=utf-8'],
  ['a.txt a.log', 'text/plain; charset=utf-8'],
  ['a.md', 'text/markdown; charset=utf-8'],
  ['a.csv', 'text/csv; charset=utf-8'],
  ['a.json a.js.map', 'application/json'],
  ['a.webmanifest', 'application/manifest+json'],
  ['sitemap.xml', 'application/xml'],
  ['feed.rss', 'application/rss+xml'],
  ['a.svg', 'image/svg+xml'],
  ['a.wasm', 'application/wasm'],
  ['a.woff2', 'font/woff2'],
  ['a.JPG a.jpeg', 'image/jpeg'],
  ['a.avif', 'image/avif'],
  ['favicon.ico', 'image/vnd.microsoft.icon'],
  ['a.mp4', 'video/mp4'],
  ['a.pdf', 'application/pdf'],
  ['a.tar.gz', 'application/gzip'],
  ['LICENSE a. a.unknown .html', 'application/octet-stream'],
] as const)
  for (const name of names.split(' ')) test(`${name} is ${type}`, () => assert.equal(mediaTypeOf(name), type));
