import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Folder } from './harness/dataplane.ts';
import { Pair } from './harness/pair.ts';
import { REPOSITORY } from './harness/process.ts';
import { Upstream } from './harness/upstream.ts';

/** What a visitor gets: a status with its body or location, or which service received which path. */
type Seen = readonly [status: number, what: string];
type Visit = readonly [host: string, path: string, seen: Seen];

const visits: Readonly<Record<string, readonly Visit[]>> = {
  'docs/from-caddy.md': [
    ['shop.example', '/api/users', [200, '4000 /users']],
    ['www.shop.example', '/page?q=1', [200, '3000 /page?q=1']],
    ['shop.example', '/admin/x', [401, '']],
    ['shop.example', '/old/x', [301, '/new']],
  ],
  'docs/from-nginx.md': [
    ['shop.example', '/page', [200, '3000 /page']],
    ['www.shop.example', '/api/users', [200, '4000 /users']],
    ['shop.example', '/health', [200, 'ok']],
    ['shop.example', '/old/a/b', [301, '/new/a/b']],
    ['other.example', '/', [404, '']],
  ],
  'docs/from-traefik.md': [
    ['shop.example', '/api/users', [200, '4000 /users']],
    ['shop.example', '/page', [200, '3000 /page']],
    ['www.shop.example', '/api/users', [200, '3000 /api/users']],
    ['other.example', '/', [404, '']],
  ],
};

for (const [name, expected] of Object.entries(visits))
  test(`the example for ${name} does what the page says`, async () => {
    using folder = new Folder();
    // The services in the examples differ by port; each is one service here.
    await using site = await Upstream.start('3000', (request, response) => response.end(`3000 ${request.url}`));
    await using api = await Upstream.start('4000', (request, response) => response.end(`4000 ${request.url}`));
    const block = /```sluicefile\n(?:\{\n[\s\S]*?\n\}\n\n)?([\s\S]*?)```/.exec(readFileSync(join(REPOSITORY, name), 'utf8'))?.[1] ?? '';
    const sites = block.replace(/10\.0\.0\.\d:(?:3000|4000)(?: 10\.0\.0\.\d:3000)?/g, (address) =>
      address.includes('4000') ? api.address : site.address,
    );
    await using pair = await Pair.start(folder, sites);
    for (const [host, path, [status, what]] of expected) {
      const answer = await pair.visit(host, path);
      const seen = answer.headers.location ?? (status < 400 ? answer.text : '');
      assert.deepEqual([answer.status, seen], [status, what], `${host}${path}`);
    }
  });
