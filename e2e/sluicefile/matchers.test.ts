import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

const SITES = `
(bots) {
  @bots header User-Agent *bot*
  respond @bots 403 "no robots"
}
a.test {
  import bots
  @write method POST PUT
  @old {
    path /docs/*
    query version=1
  }
  @elsewhere not remote_ip 127.0.0.0/8
  @traced header X-Trace
  @second local_ip 127.0.0.2
  @here local_ip 127.0.0.1
  @versioned {
    path_regexp ^/v[0-9]+/
    header_regexp Accept (?i)json
    protocol http
  }
  respond @versioned 202 "versioned"
  redir @old https://old.test{uri} 302
  header @traced X-Traced yes
  respond @elsewhere 404
  respond @second 404
  header @here X-Arrived-At 127.0.0.1
  handle @write {
    respond 201 "written"
  }
  handle {
    respond "read"
  }
}
`;

test('matchers in the file select blocks, redirects, responses and headers by request, and explain names them', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, SITES);
  const statusOf = async (path: string, more: Parameters<Pair['visit']>[2] = {}) => (await pair.visit('a.test', path, more)).status;
  assert.equal(await statusOf('/'), 200);
  assert.equal(await statusOf('/', { method: 'PUT' }), 201);
  assert.equal(await statusOf('/', { headers: { 'user-agent': 'a bot of theirs' } }), 403);
  assert.equal(await statusOf('/docs/x?version=2'), 200);
  const moved = await pair.visit('a.test', '/docs/x?version=1');
  assert.deepEqual([moved.status, moved.headers.location], [302, 'https://old.test/docs/x?version=1']);
  assert.equal((await pair.visit('a.test', '/', { headers: { 'x-trace': '' } })).headers['x-traced'], 'yes');
  assert.equal((await pair.visit('a.test')).headers['x-traced'], undefined);
  const accept = { headers: { accept: 'application/JSON' } };
  assert.deepEqual([await statusOf('/v1/x', accept), await statusOf('/v1/x'), await statusOf('/vx/x', accept)], [202, 200, 200]);
  assert.equal((await pair.visit('a.test')).headers['x-arrived-at'], '127.0.0.1');
  const { stdout } = await pair.command('explain', 'a.test/docs/x');
  assert.match(stdout, /redir.*@old does not match/);
  assert.match(stdout, /respond.*@bots does not match/);
});
