import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RunningAdmin, TOKEN } from '../testing/running-admin.ts';

/** A reader of GET /events that can stop reading. */
class Reader {
  readonly socket: Socket;
  text = '';
  closed = false;

  constructor(api: RunningAdmin) {
    this.socket = connect(api.port, '127.0.0.1');
    this.socket.on('data', (piece) => {
      this.text += piece;
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
    });
    this.socket.write(`GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`);
  }

  async sees(text: string | RegExp): Promise<void> {
    await until(() => (typeof text === 'string' ? this.text.includes(text) : text.test(this.text)), `${text} in ${this.text.slice(-300)}`);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

async function until(met: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 5_000;
  while (!met()) {
    if (performance.now() > end) throw new Error(`waited for ${what}`);
    await nextTurn();
  }
}

const DIED = { kind: 'worker', worker: 1, state: 'died', reason: 'because' } as const;

describe('server-sent events', () => {
  it('reach every connected reader with their kind and object, and none that has left', async () => {
    await using api = await RunningAdmin.start();
    using first = new Reader(api);
    using second = new Reader(api);
    for (const reader of [first, second]) await reader.sees(': connected');
    api.events.emit(DIED);
    for (const reader of [first, second]) await reader.sees('event: worker\ndata: {"worker":1,"state":"died","reason":"because"}\n\n');
    first.socket.destroy();
    api.events.emit({ kind: 'reload', ok: true, errors: [] });
    await second.sees('event: reload\ndata: {"ok":true,"errors":[]}\n\n');
  });

  it('report changed routes, and controllers that connect and disconnect', async () => {
    await using api = await RunningAdmin.start();
    using reader = new Reader(api);
    await reader.sees(': connected');
    await api.post({ domain: 'a.test', upstream: 'a:1', tls: false });
    await api.post({ domain: 'a.test', upstream: 'a:2', tls: false });
    await api.request('DELETE', '/routes/a.test');
    await reader.sees(/"added":\["a.test"\].*"changed":\["a.test"\].*"removed":\["a.test"\]/s);
    const lines = [{ apply: { controller: 'c', epoch: 1, revision: 1, based_on: null, sources: ['file'] } }, { end: { revision: 1 } }];
    await api.post(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { headers: { 'content-type': 'application/x-ndjson' } });
    await reader.sees(/event: controller\ndata: \{"controller":"c","connected":true\}.*"connected":false/s);
  });

  it('are kept open by a comment every 20 seconds, and do not count against the published limit', async () => {
    await using api = await RunningAdmin.start();
    using reader = new Reader(api);
    await reader.sees(': connected');
    assert.doesNotMatch(reader.text, /: alive/);
    api.clock.pass(20_000);
    await reader.sees(': alive\n\n');
    for (let times = 0; times < 60; times++) assert.equal((await api.request('GET', '/routes')).status, 200);
    assert.equal((await api.request('GET', '/routes')).status, 429);
    assert.equal(reader.closed, false);
  });

  it('are cut off for a reader that does not read, and for no other', async () => {
    await using api = await RunningAdmin.start();
    using slow = new Reader(api);
    using quick = new Reader(api);
    for (const reader of [slow, quick]) await reader.sees(': connected');
    slow.socket.pause();
    const reason = 'x'.repeat(100_000);
    let sent = 0;
    await until(() => {
      if (slow.closed) return true;
      // The fast reader has received the last event before the next one is sent.
      if (quick.text.length >= sent * reason.length) {
        api.events.emit({ ...DIED, reason });
        sent++;
      }
      if (sent > 200) slow.socket.resume();
      return false;
    }, 'the end of the slow reader');
    assert.ok(slow.text.length < quick.text.length);
    assert.equal(quick.closed, false);
  });
});
