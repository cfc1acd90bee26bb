import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOTS, BROWSERS, MONITORS } from '../testing/samples/browsers.ts';
import { UserAgents } from './user-agents.ts';

const clientOf = (agents: UserAgents, text: string) => {
  const { browser, system, device } = agents.clientOf(agents.find(text), text);
  return [browser, system, device];
};

test('browsers are people, with their system and device', () => {
  const agents = new UserAgents();
  for (const { name, fields, listed } of BROWSERS) {
    const text = fields['user-agent'] ?? '';
    assert.equal(agents.find(text).machine, null, name);
    assert.deepEqual(clientOf(agents, text), listed, name);
  }
});

test('bots, programs and requests without a User-Agent are bots, and monitors are monitors', () => {
  const agents = new UserAgents();
  for (const text of BOTS) assert.equal(agents.find(text).machine, 'bot', text);
  for (const text of MONITORS) assert.equal(agents.find(text).machine, 'monitor', text);
  assert.equal(agents.find(null).machine, 'bot');
});

test('a browser that is not known is listed as other, not by the name that its sender chooses', () => {
  assert.deepEqual(clientOf(new UserAgents(), 'Mine/1.0 (Amiga) Gecko'), ['other', 'other', 'other']);
});

test('a television is neither desktop nor mobile', () => {
  const text = 'Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36 WebAppManager';
  assert.deepEqual(clientOf(new UserAgents(), text), ['WebOS Browser', 'WebOS', 'other']);
});

test('a User-Agent is read once while it is remembered, also during a flood of others', () => {
  const agents = new UserAgents();
  const text = BROWSERS[0]?.fields['user-agent'] ?? '';
  const first = agents.find(text);
  for (let at = 0; at < 20_000; at++) {
    agents.find(`Mine/${at} (Windows NT 10.0) Gecko`);
    if (at % 1_000 === 0) assert.equal(agents.find(text), first);
  }
});

test('in a flood of User-Agents only a limited number is identified, and again as many after the next report', () => {
  const agents = new UserAgents();
  const browser = (version: number) =>
    clientOf(agents, `Mozilla/5.0 (X11; Linux x86_64; rv:${version}.0) Gecko/20100101 Firefox/${version}.0`)[0];
  const known = browser(1);
  const listed = Array.from({ length: 3_000 }, (_, at) => browser(at + 2));
  assert.equal(known, 'Firefox');
  assert.equal(listed.filter((name) => name === 'Firefox').length, 999);
  assert.equal(listed.filter((name) => name === 'other').length, 2_001);
  assert.equal(browser(1), 'Firefox');
  agents.refill();
  assert.equal(browser(2_900), 'Firefox');
});

test('only the beginning of a long User-Agent is read', () => {
  const agents = new UserAgents();
  const text = `${BROWSERS[0]?.fields['user-agent']} ${'x'.repeat(8_000)}`;
  assert.equal(agents.find(text), agents.find(`${text} Googlebot/2.1`));
  assert.deepEqual(clientOf(agents, text), ['Chrome', 'Windows', 'desktop']);
});
