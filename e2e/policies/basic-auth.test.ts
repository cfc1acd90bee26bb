import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { hashSync } from 'bcrypt';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import type { Answer } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { run } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const as = (user: string, password: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` },
});

/** A hash that is fast to create and slow enough to build up a queue (cost 4 takes 1 ms, 9 takes 30 ms). */
const hash = (password: string, cost = 4) => hashSync(password, cost);

describe('in a config file', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '', { flags: ['--log-level', 'debug'] });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('only the users in the Sluicefile are let in, and a changed password applies immediately', async () => {
    await using upstream = await Upstream.start('inside');
    const bob = hash('first').replace('$2b$', '$2y$');
    const sites = (ofBob: string) => `tools.test {
  basic_auth "the \\"staff\\"" {
    bob ${ofBob}
  }
  redir /moved /login 302
  handle /admin/* {
    basic_auth {
      root ${hash('toor')}
    }
  }
  reverse_proxy ${upstream.address}
}
`;
    await pair.serve(sites(bob));
    const stranger = await pair.visit('tools.test');
    assert.equal(stranger.status, 401);
    assert.equal(stranger.headers['www-authenticate'], 'Basic realm="the \\"staff\\"", charset="UTF-8"');
    assert.equal((await pair.visit('tools.test', '/moved')).status, 302, 'a redirect applies to everyone');
    for (let nth = 0; nth < 6; nth++) {
      const answer = await pair.visit('tools.test', '/page', as('bob', 'first'));
      assert.equal(answer.status, 200);
      assert.equal(
        (JSON.parse(answer.text) as { headers: { authorization: string } }).headers.authorization,
        as('bob', 'first').headers.authorization,
      );
      assert.equal((await pair.visit('tools.test', '/page', as('bob', 'wrong'))).status, 401);
    }
    assert.equal((await pair.visit('tools.test', '/admin/x', as('root', 'toor'))).status, 200);
    assert.equal((await pair.visit('tools.test', '/admin/x', as('bob', 'first'))).status, 401);
    assert.equal((await pair.visit('tools.test', '/x/..%2Fadmin/x', as('bob', 'first'))).status, 400);
    const seen = upstream.requests;

    pair.write(sites(hash('second')));
    await until('the new password to hold', async () => (await pair.visit('tools.test', '/', as('bob', 'second'))).status === 200);
    assert.equal((await pair.visit('tools.test', '/', as('bob', 'first'))).status, 401, 'the old one is forgotten in every worker');
    assert.equal(upstream.requests, seen + 1);
  });

  test('no response, command or log shows a hash, and diff reports that one has changed', async () => {
    const first = hash('first');
    const site = (of: string) => `tools.test {\n  basic_auth {\n    bob ${of}\n  }\n  respond "in"\n}\n`;
    await pair.serve(site(first));
    assert.equal((await pair.visit('tools.test', '/', as('bob', 'first'))).text, 'in');
    const texts: string[] = [];
    for (const path of ['/routes', '/routes?view=full', '/explain?url=tools.test', '/status']) texts.push((await pair.admin(path)).text);
    for (const command of [
      ['routes', '--json'],
      ['explain', 'tools.test', '--json'],
      ['explain', 'tools.test'],
    ])
      texts.push((await pair.command(...command)).stdout);
    const { stdout } = await run(['adapt', '--config', pair.file]);
    assert.match(stdout, /redacted-[0-9a-f]{12}/);
    texts.push(stdout, pair.program.output);
    for (const text of texts) assert.ok(!text.includes(first.slice(7)) && !text.includes('first'), text.slice(0, 500));
    assert.ok((await run(['adapt', '--config', pair.file, '--secrets'])).stdout.includes(first));

    assert.equal((await pair.command('diff', '--config', pair.file)).code, 0);
    writeFileSync(folder.file('other'), readFileSync(pair.file, 'utf8').replace(first, hash('second')));
    const changed = await pair.command('diff', '--config', folder.file('other'));
    assert.equal(changed.code, 3);
    assert.match(changed.stdout, /basic_auth/);
    assert.doesNotMatch(changed.stdout, /\$2b/);
  });
});

describe('through the Admin API', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path, workers: 2 });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('the Admin API rejects malformed users without repeating what may be a password', async () => {
    const post = (basic_auth: object) => dataplane.admin('POST', '/routes', { domain: 'a.test', upstream: 'up:1', tls: false, basic_auth });
    for (const [basic_auth, reason] of [
      [{ users: [] }, /at least one user/],
      [{ users: [{ name: 'bob', hash: 'my-password' }] }, /not a bcrypt hash/],
      [{ users: [{ name: 'b:b', hash: hash('x') }] }, /must not contain a colon/],
      [{ users: ['a', 'a'].map((name) => ({ name, hash: hash('x') })) }, /each user may appear only once/],
      [{ realm: 'a\nb', users: [{ name: 'bob', hash: hash('x') }] }, /must not contain control characters/],
    ] as const) {
      const { status, text } = await post(basic_auth);
      assert.equal(status, 400, text);
      assert.match(text, reason);
      assert.doesNotMatch(text, /my-password|\$2b\$\d/);
    }
  });

  test('many wrong passwords from one client do not delay others, and are answered with 429 beyond 8 that wait', async () => {
    const users = [{ name: 'bob', hash: hash('right', 9) }];
    const respond = { status: 200, body: 'in' };
    assert.equal(
      (
        await dataplane.admin('POST', '/routes', {
          domain: 'a.test',
          upstream: null,
          tls: false,
          respond,
          basic_auth: { realm: 'x', users },
        })
      ).status,
      201,
    );
    assert.equal((await dataplane.admin('POST', '/routes', { domain: 'b.test', upstream: null, tls: false, respond })).status, 201);
    assert.equal((await dataplane.visit('a.test', '/', as('bob', 'right'))).status, 200);
    const seen: Answer[] = [];
    const keep = (answer: Answer) => void seen.push(answer);
    // Requests that still wait at the end are cut off with the data plane.
    for (let nth = 0; nth < 100; nth++) void dataplane.visit('a.test', '/', as('eve', `${nth}`)).then(keep, () => undefined);
    assert.equal((await dataplane.visit('b.test')).text, 'in');
    const answered = (status: number) => seen.filter((answer) => answer.status === status);
    await until('some to be refused, and some to be compared', () => answered(429).length >= 10 && answered(401).length >= 5);
    // 8 wait in each of the two workers. Those compared while the requests arrived made room for as many others.
    assert.ok(answered(429).length <= 84, `${answered(429).length} of 100`);
    assert.equal(answered(429)[0]?.headers['retry-after'], '1');
    assert.equal(answered(401).length + answered(429).length, seen.length);
  });
});
