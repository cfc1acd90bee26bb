import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Http2UpstreamFixture, okay } from '../../dataplane/traffic/testing/http2/upstream.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

const named = (name: string) => Upstream.start(name, (_, response) => response.end(name));

const countOf = async (count: number, ask: () => Promise<string>): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for (let nth = 0; nth < count; nth++) {
    const name = await ask();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

describe('a block of reverse_proxy', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('health checks of the block take a target out and bring it back, and the targets of a handle are not checked', async () => {
    let status = 200;
    await using one = await Upstream.start('one', ({ url }, response) => {
      response.statusCode = url === '/up' ? status : 200;
      response.end('one');
    });
    await using two = await named('two');
    await using api = await named('api');
    await pair.serve(`a.test {
  reverse_proxy ${one.address} ${two.address} {
    lb_policy first
    health_uri /up
    health_interval 1s
    health_status 200
    health_passes 2
    health_fails 1
  }
  handle /api/* {
    reverse_proxy ${api.address}
  }
}
`);
    assert.equal((await pair.visit('a.test')).text, 'one');
    status = 202;
    await until('the target to be out', async () => (await pair.visit('a.test')).text === 'two');
    const { stdout } = await pair.command('status');
    assert.match(stdout, /answered 202, not 200/);
    status = 200;
    await until('the target to be back', async () => (await pair.visit('a.test')).text === 'one');
    assert.equal(api.requests, 0);
  });

  test('a cookie is set by HTTP/2 upstreams, too', async () => {
    using one = await Http2UpstreamFixture.serving(okay('one'));
    using two = await Http2UpstreamFixture.serving(okay('two'));
    await pair.serve(`a.test {
  reverse_proxy ${one.address} ${two.address} {
    transport h2c
    lb_policy cookie route
  }
}
`);
    const first = await pair.visit('a.test');
    const cookie = (first.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
    const counts = await countOf(10, async () => (await pair.visit('a.test', '/', { headers: { cookie } })).text);
    assert.deepEqual(counts, { [first.text]: 10 });
  });

  // The last: it ends the pair.
  test('the policies of the block balance by weight, cookie and header, in all workers and over a restart', async () => {
    await using one = await named('one');
    await using two = await named('two');
    const sites = `sticky.test {
  reverse_proxy ${one.address} {
    to ${two.address}
    lb_policy cookie
  }
}
users.test {
  reverse_proxy ${one.address} ${two.address}
  lb_policy header X-User
}
weights.test {
  reverse_proxy ${one.address} {
    to ${two.address} {
      weight 0
    }
    lb_policy least_conn
  }
}
`;
    await pair.serve(sites);
    const users = new Map<string, string>();
    const first = await pair.visit('sticky.test');
    const body = first.text;
    const cookie = (first.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
    assert.match(cookie, /^lb=[\w-]{24}$/);
    // Each request is a new connection, and so reaches either worker.
    assert.deepEqual(await countOf(20, async () => (await pair.visit('sticky.test', '/', { headers: { cookie } })).text), { [body]: 20 });
    assert.deepEqual(await countOf(10, async () => (await pair.visit('weights.test')).text), { one: 10 });
    for (let user = 0; user < 20; user++)
      users.set(`${user}`, (await pair.visit('users.test', '/', { headers: { 'x-user': `${user}` } })).text);
    assert.deepEqual(new Set(users.values()), new Set(['one', 'two']));
    for (const [user, target] of users) assert.equal((await pair.visit('users.test', '/', { headers: { 'x-user': user } })).text, target);
    const { stdout } = await pair.command('explain', 'http://sticky.test/');
    assert.match(stdout, /forwarded to one of 2 targets, the one that the cookie lb selects/);
    for (const hostile of ['lb=', `lb=${'x'.repeat(4_000)}`, 'lb=; lb=; lb', ';'.repeat(2_000), 'lb=\u00ff'])
      assert.equal((await pair.visit('sticky.test', '/', { headers: { cookie: hostile } })).status, 200);
    await pair.program.kill();
    await using restarted = await Pair.start(folder, sites);
    const again = await countOf(10, async () => (await restarted.visit('sticky.test', '/', { headers: { cookie } })).text);
    assert.deepEqual(again, { [body]: 10 }, 'the cookie survives a restart');
    for (const [user, target] of users)
      assert.equal((await restarted.visit('users.test', '/', { headers: { 'x-user': user } })).text, target);
  });
});
