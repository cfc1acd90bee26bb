import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

describe('mirrors', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a mirror gets copies of requests over HTTP/1.1 and HTTP/2, and visitors do not notice when it hangs or is gone', async () => {
    const copies: string[] = [];
    let hangs = false;
    await using upstream = await Upstream.start('app', (request, response) => {
      request.resume().on('end', () => response.end('app'));
    });
    await using mirror = await Upstream.start('mirror', (request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      request.on('end', () => {
        copies.push(`${request.method} ${request.url} ${text}`);
        if (!hangs) response.writeHead(503, { 'set-cookie': 'a=b' }).end('copy');
      });
    });
    const site = `app.test {\n  mirror ${mirror.address}\n  reverse_proxy ${upstream.address}\n}\n`;
    await pair.serve(site);
    const first = await pair.visit('app.test', '/one');
    assert.deepEqual([first.status, first.text, first.headers['set-cookie']], [200, 'app', undefined]);
    await pair.visit('app.test', '/two', { method: 'POST', body: 'body' });
    const session = connect(`http://127.0.0.1:${pair.httpPort}`);
    const stream = session.request({ ':authority': 'app.test', ':path': '/three' });
    const [head] = (await once(stream, 'response')) as [Readonly<Record<string, number>>];
    assert.equal(head[':status'], 200);
    session.destroy();
    await until('all copies', () => copies.length === 3);
    assert.deepEqual(copies.sort(), ['GET /one ', 'GET /three ', 'POST /two body']);
    await until('the copies to be counted', async () =>
      (await pair.admin('/metrics')).text.includes('sluice_mirrored_requests_total{domain="app.test",result="5xx"} 3'),
    );
    hangs = true;
    for (let nth = 0; nth < 20; nth++) assert.equal((await pair.visit('app.test')).text, 'app');
    await mirror[Symbol.asyncDispose]();
    for (let nth = 0; nth < 20; nth++) assert.equal((await pair.visit('app.test')).text, 'app');
    assert.match((await pair.command('explain', 'app.test')).stdout, /mirror.*all requests are also sent to 127\.0\.0\.1:/);
  });

  test('several mirrors of a site each get their copies, and their targets are listed with the others', async () => {
    await using upstream = await Upstream.start('app');
    const seen = [0, 0];
    const mirrorAt = (nth: 0 | 1) =>
      Upstream.start(`mirror ${nth}`, (_, response) => {
        seen[nth] = (seen[nth] ?? 0) + 1;
        response.end();
      });
    await using first = await mirrorAt(0);
    await using second = await mirrorAt(1);
    const site = `app.test {\n  mirror ${first.address}\n  mirror ${second.address}\n  reverse_proxy ${upstream.address}\n}\n`;
    await pair.serve(site);
    for (let nth = 0; nth < 5; nth++) assert.equal((await pair.visit('app.test')).status, 200);
    await until('both to have all copies', () => seen[0] === 5 && seen[1] === 5);
    assert.match(
      (await pair.command('explain', 'app.test')).stdout,
      new RegExp(`${first.address}; all requests are also sent to ${second.address}`),
    );
    assert.match((await pair.admin('/upstreams')).text, new RegExp(second.address));
  });
});
