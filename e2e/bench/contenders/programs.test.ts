import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Folder } from '../../testing/dataplane.ts';
import { pathOf, versionOf } from './programs.ts';

test('a program in the named folder is preferred to that in PATH', () => {
  using one = new Folder();
  using other = new Folder();
  for (const folder of [one, other]) {
    writeFileSync(folder.file('some-proxy'), '#!/bin/sh\necho "some-proxy version 1.22.1-deb" >&2\n');
    chmodSync(folder.file('some-proxy'), 0o755);
  }
  assert.equal(pathOf('some-proxy', { env: { PATH: one.path } }), one.file('some-proxy'));
  assert.equal(pathOf('some-proxy', { env: { PATH: one.path, SLUICE_BENCH_PEERS: other.path } }), other.file('some-proxy'));
  assert.equal(pathOf('another-proxy', { env: { PATH: one.path } }), null);
  assert.equal(versionOf(one.file('some-proxy'), '-v'), '1.22.1');
});
