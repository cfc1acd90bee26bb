import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestDomain } from './suggest-domain.ts';

test('a wildcard that is more than one label above is suggested with the reason', () => {
  assert.match(suggestDomain('a.b.example.com', ['*.example.com']) ?? '', /^\*\.example\.com is routed; a wildcard matches only one label/);
});

test('the same name with or without www is preferred', () => {
  assert.equal(suggestDomain('www.shop.example', ['ww.shop.example', 'shop.example']), 'shop.example is routed');
  assert.equal(suggestDomain('shop.example', ['shopp.example', 'www.shop.example']), 'www.shop.example is routed');
});

test('a typo finds the intended name, and a dissimilar name finds none', () => {
  assert.equal(suggestDomain('shpo.example', ['shop.example', 'other.test']), 'shop.example is routed');
  assert.equal(suggestDomain('something.else', ['shop.example']), null);
});

test('if there are no routes, that is the reason', () => {
  assert.match(suggestDomain('localhost', []) ?? '', /^there are no routes/);
});
