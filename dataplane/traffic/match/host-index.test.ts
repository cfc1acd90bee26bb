import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntriesPublication } from '../protocol.ts';
import type { CompiledRoute } from '../route/compiled-route.ts';
import { ANY_PORT, HostIndex } from './host-index.ts';
import { packEntries } from './packed.ts';

const route = (domain: string, version: string): CompiledRoute & { version: string } => ({
  domain,
  https: 'auto',
  ports: null,
  passthrough: null,
  errorPages: null,
  excluded: null,
  clientAuth: [],
  version,
  site: null,
  blocks: { choose: () => null, compiled: () => [], naming: () => [] },
  ambiguity: null,
  ownPaths: { serve: () => undefined, explain: () => '' },
  fields: { overrides: null, own: '', all: '', strictTransport: true, noSniff: true, sameOrigin: true, changes: null, deferred: null },
});
const compile = (domain: string, json: string): CompiledRoute => route(domain, JSON.parse(json) as string);
const versionOf = (found: CompiledRoute | null): string | null =>
  found === null ? null : (found as CompiledRoute & { version: string }).version;

function change(version: string, domains: readonly string[], more: Partial<EntriesPublication> = {}): EntriesPublication {
  return { whole: false, removed: [], ...packEntries(domains.map((domain) => ({ domain, json: JSON.stringify(version) }))), ...more };
}

async function indexOf(...domains: string[]): Promise<HostIndex<ReturnType<typeof compile>>> {
  const index = new HostIndex(compile);
  await index.apply(change('1', domains), nextTurn);
  return index;
}

test('an exact host is preferred to its wildcard, a wildcard covers one label, and the catch-all covers the rest', async () => {
  const index = await indexOf('a.test', '*.a.test', '*.test', 'x.a.test', 'localhost', '*');
  const found = (host: string) => index.find(host, ANY_PORT)?.domain;
  assert.equal(found('a.test'), 'a.test');
  assert.equal(found('x.a.test'), 'x.a.test');
  assert.equal(found('y.a.test'), '*.a.test');
  assert.equal(found('b.test'), '*.test');
  assert.equal(found('y.b.test'), '*');
  assert.equal(found('localhost'), 'localhost');
  assert.equal(found(''), '*');
});

test('a host that no route covers is null without a catch-all', async () => {
  const index = await indexOf('a.test', '*.b.test');
  for (const host of ['', 'test', 'b.test', 'x.y.b.test', 'x.a.test', '*.c.test']) assert.equal(index.find(host, ANY_PORT), null, host);
});

test('a small change, including a removal, is applied in one turn', async () => {
  const index = await indexOf('a.test', 'b.test');
  let turns = 0;
  const applied = index.apply(change('2', ['a.test', 'c.test'], { removed: ['b.test'] }), async () => {
    turns++;
  });
  assert.equal(versionOf(index.find('a.test', ANY_PORT)), '2');
  assert.equal(index.find('b.test', ANY_PORT), null);
  await applied;
  assert.equal(turns, 0);
  assert.equal(index.size, 2);
});

test('a large change is staged beside the index and takes effect all at once', async () => {
  const domains = Array.from({ length: 20_000 }, (_, at) => `site-${at}.test`);
  const index = await indexOf(...domains);
  const seen = new Set<string>();
  let turns = 0;
  const look = async () => {
    turns++;
    seen.add(
      `${versionOf(index.find('site-0.test', ANY_PORT))} ${versionOf(index.find('site-19999.test', ANY_PORT))} ${index.find('new.test', ANY_PORT) === null}`,
    );
    await nextTurn();
  };
  await index.apply(change('2', [...domains, 'new.test']), look);
  assert.ok(turns > 10, `${turns} turns`);
  assert.deepEqual([...seen], ['1 1 true']);
  assert.deepEqual(
    [
      versionOf(index.find('site-0.test', ANY_PORT)),
      versionOf(index.find('site-19999.test', ANY_PORT)),
      versionOf(index.find('new.test', ANY_PORT)),
    ],
    ['2', '2', '2'],
  );
});

test('a complete table replaces all entries', async () => {
  const index = await indexOf('a.test', 'b.test');
  await index.apply(change('2', ['c.test'], { whole: true }), nextTurn);
  assert.equal(index.find('a.test', ANY_PORT), null);
  assert.equal(versionOf(index.find('c.test', ANY_PORT)), '2');
  await index.apply({ whole: true, packed: null, count: 0, removed: [] }, nextTurn);
  assert.equal(index.size, 0);
});

test('a route is compiled once, on first use', async () => {
  let compiled = 0;
  const index = new HostIndex((domain, json) => {
    compiled++;
    return compile(domain, json);
  });
  await index.apply(change('1', ['a.test', 'b.test']), nextTurn);
  assert.equal(compiled, 0);
  const first = index.find('a.test', ANY_PORT);
  assert.equal(index.find('a.test', ANY_PORT), first);
  assert.equal(compiled, 1);
});

test('packed routes keep every character', async () => {
  const index = new HostIndex(compile);
  await index.apply(change('ümläut ✓ "quoted"', ['a.test']), nextTurn);
  assert.equal(versionOf(index.find('a.test', ANY_PORT)), 'ümläut ✓ "quoted"');
});

test('compiled entries are returned when they are replaced or removed, whether the change is large or small', async () => {
  const many = Array.from({ length: 600 }, (_, n) => `n${n}.test`);
  for (const others of [[], many]) {
    const index = await indexOf('used.test', 'removed.test', 'unused.test', 'kept.test', ...others);
    for (const host of ['used.test', 'removed.test', 'kept.test']) index.find(host, ANY_PORT);
    const news = change('2', ['used.test', 'unused.test', 'new.test', ...others], { removed: ['removed.test'] });
    const replaced = [...(await index.apply(news, nextTurn))];
    assert.deepEqual(replaced.map(([domain, was]) => `${domain} ${versionOf(was)}`).sort(), ['removed.test 1', 'used.test 1']);
    const nothing = [...(await index.apply(change('3', ['used.test', ...others]), nextTurn))];
    assert.deepEqual(nothing, [], 'the replacement is not compiled yet');
  }
});

/** Entries whose version is `deep` have a wildcard for several labels; a version that is a list is of the ports served. */
async function mixedIndex(entries: Readonly<Record<string, unknown>>) {
  const index = new HostIndex((domain, json) => {
    const ports: unknown = JSON.parse(json);
    return { ...route(domain, json), ports: Array.isArray(ports) ? (ports as number[]) : null };
  });
  const publish = (changed: Readonly<Record<string, unknown>>, more: Partial<EntriesPublication> = {}) =>
    index.apply(
      {
        ...change('', []),
        ...packEntries(
          Object.entries(changed).map(([domain, value]) => ({ domain, json: JSON.stringify(value), severalLabels: value === 'deep' })),
        ),
        ...more,
      },
      nextTurn,
    );
  await publish(entries);
  return { publish, found: (host: string, port = ANY_PORT) => index.find(host, port)?.domain ?? null };
}

test('a wildcard for several labels covers one and more, and the most specific one is found', async () => {
  const { found } = await mixedIndex({ '*.a.test': 'deep', '*.b.a.test': 'one', '*.d.c.a.test': 'deep', 'x.y.a.test': 'one' });
  assert.deepEqual(
    [
      'a.test',
      'z.a.test',
      'z.z.a.test',
      'b.a.test',
      'z.b.a.test',
      'z.z.b.a.test',
      'z.z.d.c.a.test',
      'd.c.a.test',
      'x.y.a.test',
      'x.x.y.a.test',
      'z.z.b.test',
    ].map((host) => found(host)),
    [null, '*.a.test', '*.a.test', '*.a.test', '*.b.a.test', '*.a.test', '*.d.c.a.test', '*.a.test', 'x.y.a.test', '*.a.test', null],
  );
});

test('a wildcard stops covering several labels when it is replaced or removed, in small changes and in large ones', async () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`site-${at}.test`, 'one']));
  for (const others of [{}, many]) {
    const { found, publish } = await mixedIndex({ '*.a.test': 'deep', ...others });
    assert.equal(found('x.y.a.test'), '*.a.test');
    await publish({ '*.a.test': 'one', ...others });
    assert.deepEqual([found('x.y.a.test'), found('y.a.test')], [null, '*.a.test']);
    await publish({ '*.a.test': 'deep', ...others });
    assert.equal(found('x.y.a.test'), '*.a.test');
    await publish(others, { removed: ['*.a.test'] });
    assert.equal(found('x.y.a.test'), null);
    await publish({ '*.a.test': 'deep', ...others });
    await publish({ 'b.test': 'one', ...others }, { whole: true });
    assert.equal(found('x.y.a.test'), null);
  }
});

test('an entry for other ports counts as none, so a less specific one is found', async () => {
  const { found } = await mixedIndex({ 'x.a.test': [8443], '*.a.test': [443, 8443], '*': [80] });
  assert.deepEqual(
    [8443, 443, 80, 81].map((port) => found('x.a.test', port)),
    ['x.a.test', '*.a.test', '*', null],
  );
  assert.equal(found('x.a.test'), 'x.a.test');
});

test('a host with as many labels as fit is looked up once for each', async () => {
  const { found } = await mixedIndex({ '*.test': 'deep' });
  const host = `${'a.'.repeat(124)}test`;
  assert.equal(found(host), '*.test');
  assert.equal(found(`${'a.'.repeat(124)}other`), null);
});
