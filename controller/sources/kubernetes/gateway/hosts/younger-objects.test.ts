import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translate } from '../../routes/translate.ts';
import { numbersOf, randomObjects } from '../../testing/random-world.ts';
import {
  gateway,
  ingress,
  isSecure,
  listenerSet,
  NAMESPACES,
  route,
  type Sample,
  type Seen,
  seenAt,
  worldOf,
} from '../../testing/shared-world.ts';

/** Clients, the host by which older objects may have what they request, and how the hosts of listeners that include it begin. */
const CLIENTS = [
  { requested: 'a.test', named: 'a.test', over: ['a.test', '*'] },
  { requested: 'c.test', named: '*.test', over: ['*'] },
  { requested: 'x.example', named: '*', over: ['* ', '*,', '*]'] },
] as const;
const PORTS = [80, 8_080, 443, 8_443];

/** What younger objects of another namespace have changed about requests for a host that older ones name. */
function changes(old: readonly Sample[], young: readonly Sample[]): string[] {
  const [before, after] = [old, [...old, ...young]].map((all) => translate(worldOf(all)));
  if (before === undefined || after === undefined) return [];
  // What is served on further ports as well depends on who else has some.
  const isOpen = (port: number, over: readonly string[]): boolean =>
    port === 80 ||
    port === 443 ||
    over.some((host) => old.some(({ text }) => text.includes(`${isSecure(port) ? 'HTTPS' : 'HTTP'}:${port} ${host}`)));
  return CLIENTS.flatMap(({ requested, named, over }) =>
    PORTS.filter((port) => isOpen(port, over)).flatMap((port) => {
      const [was, is] = [seenAt(before, requested, port), seenAt(after, requested, port)];
      return changesOf(named, was, is, port, young).map((what) => `${what} of ${requested} on port ${port}`);
    }),
  );
}

function changesOf(named: string, was: Seen, is: Seen, port: number, young: readonly Sample[]): string[] {
  const isOf = (target: string | null): boolean => target?.endsWith(` ${named}`) === true;
  if (was.passed !== null) return isOf(was.passed) && is.passed !== was.passed ? ['target of connections'] : [];
  const isServed = was.by === named && (isOf(was.answer) || was.answer === 'redirect') && (!isSecure(port) || was.presents !== null);
  if (!isServed) return [];
  if (is.passed !== null) return ['connections'];
  // The certificate for every host of one port gives way to one for the host on other ports.
  const isKept = was.presents === null || (was.isDefault && port !== 443) || was.presents === is.presents;
  const isOfYoung = is.presents === null || young.some(({ namespace }) => namespace === is.presents);
  return [
    ...(is.answer === was.answer ? [] : ['answer']),
    ...(isKept || !isOfYoung ? [] : ['certificate']),
    ...(is.requires === was.requires ? [] : ['client certificates']),
  ];
}

/** Older objects of some namespaces, and younger ones of another. */
type World = readonly [old: readonly Sample[], young: readonly Sample[]];

function assertUnchanged(worlds: readonly World[]): void {
  for (const [old, young] of worlds) {
    const texts = (all: readonly Sample[]) => all.map(({ text }) => text).join('; ');
    assert.deepEqual(changes(old, young), [], `${texts(old)} + ${texts(young)}`);
  }
}

test('younger objects of a namespace without older ones change nothing about the requests for hosts of others', () => {
  for (let seed = 0; seed < 1_500; seed++) {
    const numbers = numbersOf(seed);
    const options = { requiring: numbers.pick([0, 0, 0.4]), isPassing: numbers.isChance(0.5) };
    const newcomer = numbers.pick(NAMESPACES);
    const others = NAMESPACES.filter((one) => one !== newcomer);
    const old = randomObjects(numbers, others, 2 + numbers.below(4), [], options);
    assertUnchanged([[old, randomObjects(numbers, [newcomer], 1 + numbers.below(3), old, options)]]);
  }
});

test('the host of an Ingress keeps the connections that it has by the certificate of an Ingress for a wildcard or every host', () => {
  const passing = gateway('shop/g', ['TLS:443 a.test']);
  for (const host of ['*.test', '*'] as const)
    assertUnchanged([[[ingress('infra/wide', host, 'tls'), ingress('odd/web', 'a.test')], [passing]]]);
});

test('the host of an Ingress keeps the certificate that it has by an Ingress for a wildcard or every host', () => {
  const younger = ['a.test', '*.test'].flatMap((host) => [`HTTPS:443 ${host}`, `HTTPS:8443 ${host}`]);
  // A younger listener for the same wildcard shares it by its own rules.
  for (const one of younger)
    for (const host of ['*.test', '*'] as const)
      assertUnchanged([[[ingress('shop/wide', host, 'tls'), ingress('odd/web', 'a.test')], [gateway('infra/g', [one])]]]);
});

test('a younger Gateway with a wildcard takes no certificate of an Ingress for every host from older hosts below it', () => {
  const old = [ingress('odd/wide', '*', 'tls'), ingress('shop/web', 'a.test')];
  assertUnchanged([
    [old, [gateway('infra/g', ['HTTP:80 *.test'])]],
    [old, [gateway('infra/g', ['HTTPS:443 *.test Same'], 'always')]],
  ]);
});

test('among listeners of others, the certificate of those that were there first is kept', () => {
  const old = [ingress('odd/web', 'a.test'), gateway('shop/g', ['HTTPS:8443 a.test'])];
  for (const host of ['a.test', '*.test']) assertUnchanged([[old, [gateway('infra/g', [`HTTPS:443 ${host}`])]]]);
});

test('a host keeps its default certificate although another namespace has a listener and a route for its wildcard', () => {
  const old = [gateway('shop/g', ['HTTP:8080 *', 'HTTPS:443 * Same']), route('httpRoutes', 'shop/r', 'a.test', 'shop/g#1')];
  assertUnchanged([[old, [route('httpRoutes', 'odd/r', '*.test', 'shop/g'), gateway('odd/g', ['HTTPS:443 *.test'])]]]);
});

test('a host keeps the default certificate of the listener to which a route of its namespace is attached, beside an older route for HTTP', () => {
  const gateways = [gateway('infra/g', ['HTTP:80 *.test']), gateway('odd/g', ['HTTPS:443 *'])];
  const old = [...gateways, route('httpRoutes', 'infra/http', 'a.test', 'infra/g'), route('httpRoutes', 'infra/https', 'a.test', 'odd/g')];
  assertUnchanged([[old, [gateway('shop/g', ['HTTPS:8443 a.test'])]]]);
});

test('client certificates of one port are not required on another because of a younger listener of others there', () => {
  const [web, young] = [ingress('infra/web', 'a.test'), gateway('odd/g', ['HTTPS:443 a.test'])];
  const apart = [gateway('infra/g', ['HTTPS:8443 a.test'], 8_443), gateway('infra/more', ['HTTPS:443 *.test'])];
  assertUnchanged([
    [[web, gateway('infra/g', ['HTTPS:443 *', 'HTTPS:8443 a.test'], 8_443)], [young]],
    [[web, ...apart], [young]],
    [[web, ...apart], [gateway('odd/g', ['HTTPS:443 a.test'], 'always')]],
    [[web, gateway('infra/g', ['HTTPS:443 *', 'HTTPS:8443 a.test'], 'always')], [young]],
  ]);
});

test('a younger route of others neither requires client certificates for an Ingress nor turns them off, by the listener that it is attached to', () => {
  const [first, second] = ['HTTPS:443 a.test Same', 'HTTPS:443 a.test'];
  const routes = ['a.test', '*.test'].map((host) => route('httpRoutes', 'infra/r', host as 'a.test', 'shop/more'));
  for (const one of routes)
    for (const web of [ingress('shop/web', 'a.test', 'tls'), ingress('odd/web', 'a.test', 'tls')])
      assertUnchanged([
        [[gateway('shop/g', [first]), web, gateway('shop/more', [second], 'always')], [one]],
        [[gateway('shop/g', [first], 443), gateway('shop/more', [second]), web], [one]],
      ]);
});

test('a younger route of others at an older Gateway does not move the host of a listener and an Ingress to that Gateway', () => {
  const old = [gateway('infra/g', ['HTTPS:443 *.test']), gateway('odd/g', ['HTTPS:8443 a.test']), ingress('odd/web', 'a.test')];
  assertUnchanged([[old, [route('httpRoutes', 'shop/r', 'a.test', 'infra/g')]]]);
  assert.equal(seenAt(translate(worldOf([...old, route('httpRoutes', 'shop/r', 'a.test', 'infra/g')])), 'a.test', 443).presents, 'odd');
});

test('a younger Ingress does not give HTTPS requests to the route of another port', () => {
  const old = [
    ...[gateway('infra/g', ['HTTP:80 a.test']), route('httpRoutes', 'infra/r', 'a.test', 'infra/g')],
    ...[gateway('shop/g', ['HTTPS:443 a.test']), route('httpRoutes', 'shop/r', 'a.test', 'shop/g')],
  ];
  assertUnchanged([[old, [ingress('odd/web', 'a.test', 'tls')]]]);
});

test('younger listeners on both usual ports do not take HTTPS requests from a route beside an Ingress, nor give it those of the Ingress', () => {
  const beside = [gateway('odd/g', ['HTTP:80 a.test']), route('httpRoutes', 'shop/r', 'a.test', 'odd/g'), ingress('odd/web', 'a.test')];
  const secured = [gateway('infra/g', ['HTTP:80 *', 'HTTPS:443 *.test']), route('httpRoutes', 'infra/r', 'a.test', 'infra/g#0')];
  assertUnchanged([
    [[...beside, gateway('odd/more', ['HTTPS:8443 a.test'])], [gateway('infra/g', ['HTTPS:443 a.test', 'HTTP:80 a.test'])]],
    [[...secured, ingress('shop/web', 'a.test', 'tls')], [gateway('odd/g', ['HTTPS:443 a.test'])]],
    [[...secured, ingress('shop/web', 'a.test', 'tls')], [gateway('odd/g', ['HTTPS:443 a.test'], 'always')]],
  ]);
});

test('a route that lost its host to a listener of its namespace does not get it back by a younger one of others', () => {
  const gateways = [gateway('shop/g', ['HTTPS:443 *.test']), gateway('shop/all', ['HTTPS:443 *'])];
  const routes = [route('httpRoutes', 'shop/r', 'a.test', 'shop/all'), route('httpRoutes', 'infra/r', 'a.test', 'shop/g')];
  assertUnchanged([[[...gateways, ...routes], [gateway('odd/g', ['HTTPS:443 a.test'])]]]);
});

test('connections that a wildcard passes on are not ended by a younger listener for every host because of another port', () => {
  const old = [gateway('shop/g', ['TLS:8443 *', 'HTTPS:443 a.test']), route('tlsRoutes', 'odd/r', '*.test', 'shop/g#0')];
  const passedFor = (...young: Sample[]) => seenAt(translate(worldOf([...old, ...young])), 'a.test', 8_443).passed;
  assert.equal(passedFor(), 'odd *.test');
  assert.equal(passedFor(gateway('infra/g', ['HTTPS:8443 *'])), 'odd *.test');
});

test('a host keeps its default certificate although others add a listener for every host to a Gateway that is older', () => {
  const [first, second] = [gateway('infra/g', ['HTTP:80 *']), gateway('shop/g', ['HTTPS:443 *'])];
  const old = [first, second, route('httpRoutes', 'shop/r', 'a.test', 'shop/g'), route('httpRoutes', 'shop/all', '*', 'shop/g')];
  assertUnchanged([[old, [listenerSet('odd/more', 'infra/g', ['HTTPS:443 *'])]]]);
});
