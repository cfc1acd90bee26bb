import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Controller } from '../testing/controller.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';

const site = (domain: string, word: string): string => `${domain} {\n  respond "${word}"\n}\n`;

test('two controllers never take each other’s domains, and a domain that its owner removes is free', async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state') });
  const served = async (host: string) => (await dataplane.visit(host)).text;
  await using first = await Controller.start(dataplane, folder, 'a', site('shared.test', 'from a') + site('a.test', 'a'));
  await until('the first one’s sites', async () => (await served('shared.test')) === 'from a');
  await using second = await Controller.start(dataplane, folder, 'b', site('shared.test', 'from b') + site('b.test', 'b'));
  await until('the second one’s own site', async () => (await served('b.test')) === 'b');
  assert.equal(await served('shared.test'), 'from a');
  await second.program.said(/"domain":"shared.test","reason":"it belongs to controller \\"a\\""/);
  assert.match(await second.status(), /conflicted: it belongs to controller \\"a\\"/);

  // Repeating the frame or sending a different one does not take the domain either.
  second.write(site('shared.test', 'from b, again') + site('b.test', 'b, newer'));
  await until('the change beside it', async () => (await served('b.test')) === 'b, newer');
  assert.equal(await served('shared.test'), 'from a');
  // A disconnected owner keeps its routes until it removes them.
  await first.program.kill('SIGKILL');
  second.write(site('shared.test', 'from b, once more') + site('b.test', 'b, newest'));
  await until('the change beside it', async () => (await served('b.test')) === 'b, newest');
  assert.equal(await served('shared.test'), 'from a');

  await using returned = await Controller.start(dataplane, folder, 'a', site('a.test', 'a'));
  // What the other one wants is served as soon as the domain is free.
  await until('the owner to give it up', async () => (await served('shared.test')) === 'from b, once more');
  second.write(site('shared.test', 'from b at last') + site('b.test', 'b'));
  await until('the other controller to own it', async () => (await served('shared.test')) === 'from b at last');
  assert.equal(await served('a.test'), 'a');
  assert.equal(returned.program.exit, null);
});
