import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { RunningAdmin } from './testing/running-admin.ts';

test('a connection of the Admin API or the probe listener that pipelines many requests is closed, not served', async () => {
  await using api = await RunningAdmin.start();
  for (const port of [api.port, api.probePort]) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
    });
    await once(socket, 'connect');
    socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1_000));
    await once(socket, 'close');
    assert.ok(text.split('HTTP/1.1 200 OK').length - 1 <= 16, text);
  }
});
