import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

const VISITS = 400;

/** GETs over one HTTP/2 connection, each with these fields. @returns the body and the cookie of each. */
async function visitOverHttp2(port: number, host: string, count: number): Promise<{ text: string; cookie: string | undefined }[]> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const all = [];
    for (let nth = 0; nth < count; nth++) {
      const stream = session.request({ ':authority': host, ':path': '/' });
      const [head] = (await once(stream, 'response')) as [Readonly<Record<string, string[]>>];
      let text = '';
      for await (const piece of stream.setEncoding('utf8')) text += piece;
      all.push({ text, cookie: head['set-cookie']?.[0] });
    }
    return all;
  } finally {
    session.close();
  }
}

describe('groups of a site', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('groups get their shares regardless of the number of their targets, a cookie keeps visitors in theirs, and a growing canary keeps its own', async () => {
    await using one = await Upstream.start('old', (_, response) => response.end('old'));
    await using two = await Upstream.start('old', (_, response) => response.end('old'));
    await using canary = await Upstream.start('new', (_, response) => response.end('new'));
    const site = (old: number, young: number): string => `app.test {
  @beta header X-Beta 1
  handle @beta {
    reverse_proxy ${canary.address}
  }
  split_by cookie
  split ${old} {
    reverse_proxy ${one.address} ${two.address}
  }
  split ${young} {
    reverse_proxy ${canary.address}
    header X-Version canary
  }
}
`;
    await pair.serve(site(3, 1));
    const first = [];
    for (let nth = 0; nth < VISITS; nth++) {
      const { text, headers } = await pair.visit('app.test');
      first.push({ text, cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' });
      assert.equal(headers['x-version'], text === 'new' ? 'canary' : undefined);
    }
    const young = first.filter(({ text }) => text === 'new').length;
    // A quarter, within six standard deviations.
    assert.ok(Math.abs(young - VISITS / 4) < 6 * Math.sqrt((VISITS * 3) / 16), `${young} of ${VISITS}`);
    assert.ok(one.requests > 0 && two.requests > 0);
    for (const { text, cookie } of first.slice(0, 40)) {
      const again = await pair.visit('app.test', '/', { headers: { cookie } });
      assert.deepEqual([again.text, again.headers['set-cookie']], [text, undefined]);
    }
    assert.equal((await pair.visit('app.test', '/', { headers: { 'x-beta': '1' } })).text, 'new');
    const modern = await visitOverHttp2(pair.httpPort, 'app.test', 40);
    assert.ok(modern.every(({ cookie }) => cookie?.startsWith('sluice_split=')));
    const explained = await pair.command('explain', 'app.test');
    assert.match(explained.stdout, /split 3 of 4/);
    const half = site(1, 1);
    pair.write(half);
    const old = first.find(({ text, cookie }) => text === 'old' && Number(cookie.split('=')[1]) > 500_000);
    assert.ok(old);
    await until(
      'the canary to have grown',
      async () => (await pair.visit('app.test', '/', { headers: { cookie: old.cookie } })).text === 'new',
    );
    for (const { cookie } of first.filter(({ text }) => text === 'new').slice(0, 40))
      assert.equal((await pair.visit('app.test', '/', { headers: { cookie } })).text, 'new');
  });

  test('a group without targets answers its share with 500, and the others are not affected', async () => {
    await using upstream = await Upstream.start('app', (_, response) => response.end('app'));
    await pair.serve('other.test {\n  respond "x"\n}\n');
    const share = (from: number, to: number) => ({ path: null, match: { share: { from, to, of: 2, by: 'header', name: 'X-User' } } });
    const handles = [
      { ...share(0, 1), upstreams: [{ address: upstream.address }] },
      { ...share(1, 2), respond: { status: 500 } },
    ];
    const body = JSON.stringify({ domain: 'app.test', upstream: null, tls: false, handles });
    const added = await pair.admin('/routes', { method: 'POST', body });
    assert.equal(added.status, 201, added.text);
    const seen = new Map<string, number>();
    for (let nth = 0; nth < 200; nth++) {
      const { status } = await pair.visit('app.test', '/', { headers: { 'x-user': `u${nth % 50}` } });
      assert.equal(seen.get(`u${nth % 50}`) ?? status, status, 'a user stays in one group');
      seen.set(`u${nth % 50}`, status);
    }
    assert.deepEqual(new Set(seen.values()), new Set([200, 500]));
    const wrong = { ...share(1, 3), respond: { status: 500 } };
    const refused = await pair.admin('/routes', {
      method: 'POST',
      body: JSON.stringify({ domain: 'b.test', upstream: null, tls: false, handles: [wrong] }),
    });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /handles\.0\.match\.share: a share begins before its end, and ends within the whole/);
  });
});
