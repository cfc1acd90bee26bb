import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PropagationCheck } from '../../dataplane/tls/issue/dns/propagation.ts';
import { Rfc2136Provider } from '../../dataplane/tls/issue/dns/rfc2136-provider.ts';
import { parseTsigKey } from '../../dataplane/tls/issue/dns/tsig-key.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { missing } from '../components.ts';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Named } from './testing/named.ts';

const LIMITS = { skip: missing('named') };
const NAME = '_acme-challenge.example.com';

function resolverAt(address: string): Resolver {
  const resolver = new Resolver({ timeout: 10_000, tries: 3 });
  resolver.setServers([address]);
  return resolver;
}

test('records are added and removed one by one, and are public once the zone’s servers return them', LIMITS, async () => {
  using folder = new Folder();
  await using named = await Named.start(folder);
  const key = parseTsigKey(readFileSync(named.keyPath, 'utf8'));
  assert.ok(key.ok);
  const tools = { clock: systemClock, random: systemRandom, key: key.value };
  const update = new Rfc2136Provider({ ...tools, server: { host: 'localhost', port: named.port } });
  const dns = new PropagationCheck(null, { system: () => resolverAt(named.address), port: named.port });
  const shown = async (): Promise<boolean[]> => [await dns.hasPropagated(NAME, 'one'), await dns.hasPropagated(NAME, 'two')];
  assert.deepEqual(await shown(), [false, false]);
  await Promise.all([update.add(NAME, 'one'), update.add(NAME, 'two')]);
  assert.deepEqual(await shown(), [true, true]);
  await update.remove(NAME, 'one');
  await update.remove(NAME, 'one');
  assert.deepEqual(await shown(), [false, true]);
  assert.equal(await dns.resolveAlias('_acme-challenge.shop.example.org'), 'shop.checks.example.com');
  assert.equal(await dns.resolveAlias(NAME), NAME);
  await assert.rejects(
    dns.resolveAlias('_acme-challenge.odd.example.org'),
    /is an alias of something that is not a valid name: "-n\.example\.com"/,
  );
  await assert.rejects(update.add('_acme-challenge.example.net', 'v'), /it has no zone for _acme-challenge\.example\.net$/);
  await assert.rejects(
    update.add('a.example.org', 'v'),
    /rejects updates of the zone example\.org \(REFUSED\): allow them for the key acme-key$/,
  );
  const unsigned = new Rfc2136Provider({ ...tools, key: null, server: { host: '127.0.0.1', port: named.port } });
  await assert.rejects(unsigned.add(NAME, 'v'), /REFUSED\): name a key with --acme-dns-key-file PATH$/);
});

test('if the zone’s servers are unreachable, the system’s resolver is used', LIMITS, async () => {
  using folder = new Folder();
  await using named = await Named.start(folder);
  const dns = new PropagationCheck(null, { system: () => resolverAt(named.address), port: await freePort() });
  assert.equal(await dns.hasPropagated('example.com', 'v=one two'), true);
  assert.equal(await dns.hasPropagated('example.com', 'v=one'), false);
  const nobody = await freePort();
  await assert.rejects(new PropagationCheck({ host: '127.0.0.1', port: nobody }).hasPropagated(NAME, 'v'));
  const lost = new Rfc2136Provider({ server: { host: '127.0.0.1', port: nobody }, key: null, clock: systemClock, random: systemRandom });
  await assert.rejects(lost.add(NAME, 'v'), /the DNS server 127\.0\.0\.1:\d+ \(--acme-dns-server\): connect ECONNREFUSED/);
});
