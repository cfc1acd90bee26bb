import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

const site = (word: string) => `site.test {\n  respond "${word}"\n}\n`;

describe('beside a pair', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, site('file'));
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('diff shows what a file would change, and what was changed manually', async () => {
    const other = folder.file('next');
    const globals = `{\n  http_port ${pair.httpPort}\n  bind 127.0.0.1\n}\n`;
    writeFileSync(other, `${globals}${site('next')}new.test {\n  respond "new"\n}\n`);

    const same = await pair.command('diff', '--config', pair.file);
    assert.deepEqual([same.code, same.stdout], [0, 'Nothing would change.\n']);
    const next = await pair.command('diff', '--config', other);
    assert.equal(next.code, 3);
    assert.match(next.stdout, /^\+ new\.test \(.*next:8\)$/m);
    assert.match(next.stdout, /^~ site\.test .*\n {4}respond: .*"file".* -> .*"next"/m);
    assert.match(next.stdout, /1 to add, 1 to change, 0 to remove\.$/m);
    assert.equal((await pair.visit('new.test')).status, 404, 'nothing was applied');

    const hand = { domain: 'site.test', upstream: null, tls: false, respond: { status: 200, body: 'hand' } };
    assert.equal((await pair.admin('/routes', { method: 'POST', body: JSON.stringify(hand) })).status, 201);
    const hidden = await pair.command('diff', '--config', pair.file);
    assert.equal(hidden.code, 3);
    assert.match(hidden.stdout, /^! site\.test .*hidden.*DELETE \/routes\/site\.test\n {4}.*\n?.*respond: .*"hand".* -> .*"file"/m);
    assert.equal((await pair.admin('/routes/site.test', { method: 'DELETE' })).status, 200);
    assert.equal((await pair.command('diff', '--config', pair.file)).code, 0);
  });

  test('a route of the file that is replaced manually under its own tag is restored within a second', async () => {
    const body = JSON.stringify({
      domain: 'site.test',
      upstream: null,
      tls: false,
      source: 'file',
      respond: { status: 200, body: 'hand' },
    });
    assert.equal((await pair.admin('/routes', { method: 'POST', body })).status, 201);
    await until('the file to hold again', async () => (await pair.visit('site.test')).text === 'file');
    assert.equal((await pair.command('diff', '--config', pair.file)).code, 0);
  });
});
