import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { until } from '../../../shared/runtime/testing/until.ts';
import { ask } from '../../testing/http.ts';
import { App, PORT } from './app.ts';
import { Engine } from './engine.ts';
import { ownNetwork } from './own-network.ts';

const skip = ownNetwork();

test('the test engine runs in a separate network, and its containers outlive it', {
  skip,
}, async () => {
  assert.deepEqual(Object.keys(networkInterfaces()), ['lo']);
  await using engine = await Engine.start();
  const app = await App.start(engine.docker, { app: 'blog', labels: {} });
  const host = await app.address();
  const answer = await until('the app to answer', () => ask({ host, port: PORT }, '/'));
  assert.equal(answer.text, `blog ${app.shortId}`);

  await engine.stop('SIGKILL');
  assert.equal((await ask({ host, port: PORT }, '/')).status, 200);
  await engine.startAgain();
  const [running] = await engine.docker.listContainers();
  assert.equal(running?.Id, app.id);
  // It ends with the engine, in any state that a failed test leaves it in.
  await app.container.pause();
});
