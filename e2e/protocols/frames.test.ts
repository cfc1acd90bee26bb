import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, frame, NDJSON, TOKEN } from '../testing/dataplane.ts';
import type { Answer } from '../testing/http.ts';

const respond = (domain: string, body: string) => ({ domain, upstream: null, respond: { status: 200, body } });

/** Sends chunks as `curl --data-binary @-` does, and optionally breaks off instead of ending. */
function pipe(dataplane: Dataplane, pieces: readonly string[], end: 'end' | 'cut'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...NDJSON };
    const call = request({ host: '127.0.0.1', port: dataplane.adminPort, path: '/routes', method: 'POST', headers, agent: false });
    call.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    const next = (index: number): void => {
      const piece = pieces[index];
      if (piece !== undefined) call.write(piece, () => next(index + 1));
      else if (end === 'end') call.end();
      else call.destroy(new Error('cut'));
    };
    next(0);
  });
}

const pieces = (text: string, size: number): string[] => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];

describe('frames of a controller', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a single frame piped in, in any chunks, is applied and answered, and the connection ends', async () => {
    const text = frame(1, [respond('a.test', 'a'), respond('b.test', 'ü in pieces')]);
    const answer = await pipe(dataplane, pieces(text, 7), 'end');
    assert.equal(answer.status, 200);
    const { applied } = JSON.parse(answer.text) as { applied: { revision: number; results: object[] } };
    assert.equal(applied.revision, 1);
    assert.deepEqual(applied.results, [
      { domain: 'a.test', result: 'added' },
      { domain: 'b.test', result: 'added' },
    ]);
    assert.equal((await dataplane.visit('b.test')).text, 'ü in pieces');
  });

  test('a frame that is truncated anywhere, stale or malformed has no effect', async () => {
    const good = await dataplane.admin('POST', '/routes', frame(5, [respond('kept.test', 'good')], { epoch: 10 }), NDJSON);
    assert.equal(good.status, 200);
    const next = frame(6, [respond('new.test', 'new')], { epoch: 10 });
    const untouched = async (what: string) => {
      assert.equal((await dataplane.visit('kept.test')).text, 'good', what);
      assert.equal((await dataplane.visit('new.test')).status, 404, what);
    };
    // The last cut removes only the newline of the last line.
    for (const length of [30, next.indexOf('\n') + 1, next.indexOf('"end"'), next.length - 3]) {
      await assert.rejects(pipe(dataplane, [next.slice(0, length)], 'cut'), /cut/);
      await untouched(`broken off after ${length} characters`);
      const ended = await pipe(dataplane, [next.slice(0, length)], 'end');
      assert.equal(ended.status, 400, `${length}: ${ended.text}`);
      assert.match(ended.text, /malformed apply stream/);
      await untouched(`ended after ${length} characters`);
    }
    const stale = await dataplane.admin('POST', '/routes', frame(7, [respond('new.test', 'old epoch')], { epoch: 9 }), NDJSON);
    assert.equal(stale.status, 409);
    assert.deepEqual((JSON.parse(stale.text) as { refused: { current: number } }).refused.current, 5);
    await untouched('a lower epoch');
    assert.equal((await dataplane.admin('POST', '/routes', frame(4, [], { epoch: 10 }), NDJSON)).status, 409);
    await untouched('an earlier revision');
    assert.equal((await dataplane.admin('POST', '/routes', '{"apply":\n', NDJSON)).status, 400);
    await untouched('no JSON');

    const taken = await dataplane.admin('POST', '/routes', next, NDJSON);
    assert.equal(taken.status, 200, taken.text);
    assert.equal((await dataplane.visit('new.test')).text, 'new');
    assert.equal((await dataplane.visit('kept.test')).status, 404);
  });

  test('a bad route in a frame is rejected alone and keeps its last good version', async () => {
    await dataplane.admin('POST', '/routes', frame(1, [respond('a.test', 'good'), respond('b.test', 'one')], { epoch: 20 }), NDJSON);
    const mixed = frame(
      2,
      [{ domain: 'a.test', upstream: 'no port' }, respond('b.test', 'two'), { domain: 'bad domain!', upstream: null }],
      { epoch: 20 },
    );
    const answer = await dataplane.admin('POST', '/routes', mixed, NDJSON);
    assert.equal(answer.status, 200);
    const { results } = (JSON.parse(answer.text) as { applied: { results: { domain: string; result: string; reason?: string }[] } })
      .applied;
    const outcome = Object.fromEntries(results.map(({ domain, result }) => [domain, result]));
    assert.deepEqual(outcome, { 'a.test': 'rejected', 'b.test': 'changed', 'bad domain!': 'rejected' });
    assert.ok(results.every(({ result, reason }) => result !== 'rejected' || (reason ?? '').length > 5));
    assert.equal((await dataplane.visit('a.test')).text, 'good');
    assert.equal((await dataplane.visit('b.test')).text, 'two');
  });

  test('an open stream is notified of manual changes and can revert them', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...NDJSON };
    const call = request({ host: '127.0.0.1', port: dataplane.adminPort, path: '/routes', method: 'POST', headers });
    let heard = '';
    call.on('response', (response) => {
      response.setEncoding('utf8').on('data', (piece: string) => {
        heard += piece;
      });
    });
    call.write(frame(1, [respond('a.test', 'good')], { epoch: 30 }));
    await until('the answer', () => heard.includes('"applied"'));
    assert.equal((await dataplane.admin('DELETE', '/routes/a.test')).status, 200);
    await until('the news', () => heard.includes('{"routes":{"domain":"a.test","change":"removed"'));
    // The same stream restores it: because of the manual change, the table no longer matches revision 1.
    call.write(frame(2, [respond('a.test', 'good')], { epoch: 30 }));
    await until('the second answer', () => heard.includes('"revision":2'));
    assert.equal((await dataplane.visit('a.test')).text, 'good');
    call.end();
  });
});
