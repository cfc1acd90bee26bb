import { after, before, describe } from 'node:test';
import { changesThatLoseNothing } from './changes.ts';
import { labelsOfContainers } from './labels.ts';
import { Discovery } from './testing/discovery.ts';
import { Engine } from './testing/engine.ts';
import { ownNetwork } from './testing/own-network.ts';
import { twoHundredContainers } from './two-hundred.ts';

const skip = ownNetwork();

/** On one engine with one pair, because starting them takes longer than most of the tests. */
describe('with a real container engine', { skip }, () => {
  let engine: Engine;
  let discovery: Discovery;
  before(async () => {
    engine = await Engine.start();
    discovery = await Discovery.start(engine);
  });
  after(async () => {
    await discovery?.[Symbol.asyncDispose]();
    await engine?.[Symbol.asyncDispose]();
  });

  const scene = () => ({ engine, discovery });
  labelsOfContainers(scene);
  changesThatLoseNothing(scene);
  twoHundredContainers(scene);
});
