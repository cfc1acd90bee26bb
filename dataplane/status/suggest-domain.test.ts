import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suggestDomain } from './suggest-domain.ts';

test('a wildcard too many labels above is named, with the reason', () => {
  assert.match(suggestDomain('a.b.example.com', ['*.example.com']) ?? '', /^\*\.example\.com is routed; a wildcard stands for one label/);
});

test('the same name with or without www is nearer than anything', () => {
  assert.equal(suggestDomain('www.shop.example', ['ww.shop.example', 'shop.example']), 'shop.example is routed');
  assert.equal(suggestDomain('shop.example', ['shopp.example', 'www.shop.example']), 'www.shop.example is routed');
});

test('a typing error finds the name that was meant; what is far from all finds none', () => {
  assert.equal(suggestDomain('shpo.example', ['shop.example', 'other.test']), 'shop.example is routed');
  assert.equal(suggestDomain('something.else', ['shop.example']), null);
});

test('where nothing is routed at all, that is the reason', () => {
  assert.match(suggestDomain('localhost', []) ?? '', /^nothing is routed at all/);
});
