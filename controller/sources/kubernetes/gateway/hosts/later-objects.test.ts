import assert from 'node:assert/strict';
import { test } from 'node:test';
import { translate } from '../../routes/translate.ts';
import { gateway, ingress, route, type Sample, seenAt, worldOf } from '../../testing/shared-world.ts';

/** Who answers requests of a.test on port 443, and whose certificate is presented. Objects are oldest first. */
function secured(...objects: readonly Sample[]): string {
  const { answer, presents } = seenAt(translate(worldOf(objects)), 'a.test', 443);
  return `${answer} by ${presents}`;
}

test('the owner of a host keeps its requests from a younger Ingress of others when it adds a listener of its own', () => {
  for (const over of ['*.test', '*']) {
    const before = [gateway('infra/g', [`HTTP:80 ${over}`, `HTTPS:443 ${over}`]), route('httpRoutes', 'shop/r', 'a.test', 'infra/g')];
    const shared = [...before, ingress('odd/web', 'a.test'), gateway('shop/g2', ['HTTPS:443 a.test'])];
    assert.equal(secured(...shared), 'shop a.test by shop');
    assert.equal(secured(...shared, route('httpRoutes', 'shop/r2', 'a.test', 'shop/g2')), 'shop a.test by shop');
  }
});

test('a host that was kept from a listener of others stays so when a wildcard is added above it', () => {
  const before = [
    gateway('infra/h', ['HTTP:80 *', 'HTTPS:443 *']),
    route('httpRoutes', 'shop/r', 'a.test', 'infra/h'),
    gateway('odd/k', ['HTTPS:443 a.test']),
    route('httpRoutes', 'odd/rk', 'a.test', 'odd/k'),
  ];
  assert.match(secured(...before), /^shop a\.test by /);
  assert.match(secured(...before, gateway('infra/w', ['HTTPS:443 *.test'])), /^shop a\.test by /);
});

test('a certificate of a namespace for a wildcard is presented for its own older host, instead of that of others for every host', () => {
  const before = [ingress('infra/all', '*', 'tls'), ingress('shop/web', 'a.test')];
  assert.equal(secured(...before, ingress('shop/wild', '*.test', 'tls')), 'shop a.test by shop');
  assert.equal(secured(...before, gateway('shop/g', ['HTTPS:443 *.test'])), 'shop a.test by shop');
});

test('the certificate of a listener that does not serve the host is not presented', () => {
  const before = [
    gateway('infra/p', ['HTTP:80 *.test']),
    route('httpRoutes', 'shop/r', 'a.test', 'infra/p'),
    gateway('shop/g', ['HTTPS:443 a.test']),
    route('httpRoutes', 'shop/s', 'a.test', 'shop/g'),
  ];
  assert.equal(secured(...before), 'shop a.test by shop');
  assert.equal(secured(...before, gateway('infra/q', ['HTTPS:443 a.test'], 'always')), 'shop a.test by shop');
});

test('a redirect of a Gateway to HTTPS does not follow to its own HTTPS beside an older Ingress', () => {
  const redirecting = (host: 'a.test' | '*') => [gateway('infra/g', [`HTTP:80 ${host}`, `HTTPS:443 ${host}`])];
  for (const host of ['a.test', '*'] as const)
    for (const tls of ['tls', 'plain'] as const) {
      const before = [ingress('shop/web', 'a.test', tls), ...redirecting(host)];
      const { routes } = translate(worldOf([...before, route('httpRoutes', 'infra/r', 'a.test', 'infra/g#0')]));
      const blocks = routes.find(({ domain }) => domain === 'a.test')?.handles.filter(({ match }) => match?.port !== undefined) ?? [];
      assert.deepEqual(
        blocks.map(({ match }) => match?.port),
        blocks.map(() => [80]),
        `${host} ${tls}`,
      );
      assert.equal(blocks.length, 1);
    }
});

test('a younger route of the namespace of an Ingress does not turn client certificates off for others', () => {
  const before = [
    gateway('infra/o0', ['HTTPS:443 a.test'], 'always'),
    ingress('odd/o1', 'a.test'),
    route('httpRoutes', 'shop/o3', 'a.test', 'infra/o0#0'),
    gateway('infra/o4', ['HTTPS:443 a.test']),
  ];
  const requires = (...objects: readonly Sample[]) => seenAt(translate(worldOf(objects)), 'a.test', 443).requires;
  assert.equal(requires(...before), 'infra');
  assert.equal(requires(...before, route('httpRoutes', 'odd/o6', 'a.test', 'infra/o4')), 'infra');
});

test('one who only named a host in a route before does not require client certificates of an older Ingress', () => {
  const before = [
    gateway('infra/g', ['HTTP:80 *', 'HTTPS:443 *']),
    route('httpRoutes', 'shop/r', 'a.test', 'infra/g'),
    ingress('odd/web', 'a.test'),
  ];
  const later = seenAt(translate(worldOf([...before, gateway('shop/g2', ['HTTPS:443 a.test'], 'always')])), 'a.test', 443);
  assert.deepEqual([later.requires, later.answer], [null, 'shop a.test']);
});

test('a route at the port for HTTP of another Gateway does not take the HTTPS requests of a host from its Ingress', () => {
  const both = (host: string) => [`HTTP:80 ${host}`, `HTTPS:443 ${host}`];
  const answerOf = (...objects: readonly Sample[]) => seenAt(translate(worldOf(objects)), 'a.test', 443).answer;
  assert.equal(
    answerOf(
      gateway('infra/p', both('*.test')),
      route('httpRoutes', 'infra/o', 'a.test', 'infra/p#0'),
      gateway('shop/b', both('a.test')),
      ingress('shop/w', 'a.test', 'tls'),
    ),
    'shop a.test',
  );
  assert.equal(
    answerOf(
      gateway('infra/p', both('*.test')),
      gateway('odd/b', ['HTTP:80 *.test']),
      route('httpRoutes', 'shop/r', 'a.test', 'odd/b#0'),
      ingress('odd/w', 'a.test', 'tls'),
    ),
    'odd a.test',
  );
});
