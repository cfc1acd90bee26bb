import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SiteLabels } from '../../labels/read-labels.ts';
import type { Container } from '../engine/container.ts';
import type { EngineSnapshot } from '../routes/engine-snapshot.ts';
import { sampleContainer, sampleSnapshot } from '../testing/sample-container.ts';
import { type AddressChoice, chooseAddress } from './choose-address.ts';

type Site = Pick<SiteLabels, 'port' | 'network' | 'site'>;

const network = (name: string, ipv4: string | null, ipv6: string | null = null) => ({ name, id: `${name}-id`, ipv4, ipv6 });
const inside = (...names: string[]): Partial<EngineSnapshot> => ({
  reach: {
    kind: 'networks',
    ids: new Set(names.map((name) => `${name}-id`)),
    names,
    container: 'proxy',
    dataplanes: new Set(['proxy-id']),
  },
});
const choose = (container: Partial<Container>, snapshot: Partial<EngineSnapshot> = {}, site: Partial<Site> = {}): AddressChoice =>
  chooseAddress(sampleContainer(1, container), { port: null, network: null, site: null, ...site }, sampleSnapshot([], snapshot));

/** Of Swarm, whose ids are shorter than those of an engine. */
const ingress = (id = 'la65jo7sad9bam1iz95tpdk8x') => ({ name: 'ingress', id, ipv4: '10.0.0.6', ipv6: null });
const inSwarm = { networks: [ingress(), network('sluice', '10.0.1.9')] };

const several = { networks: [network('a', '10.0.1.2'), network('b', '10.0.2.2', 'fd00:2::2'), network('c', null, 'fd00:3::2')] };

for (const [claim, container, snapshot, site, address] of [
  ['the port of the label comes before the exposed one', {}, {}, { port: 8080 }, '172.18.0.1:8080'],
  ['the only exposed port needs no label', { exposedTcpPorts: [3000] }, {}, {}, '172.18.0.1:3000'],
  ['from the host the first network by name is used', several, {}, {}, '10.0.1.2:80'],
  ['a network without the data plane is skipped', several, inside('b', 'c'), {}, '10.0.2.2:80'],
  ['IPv6 in brackets is used if there is no IPv4', several, inside('c'), {}, '[fd00:3::2]:80'],
  ['the flag prefers a network', several, { ...inside('a', 'b'), network: 'b' }, {}, '10.0.2.2:80'],
  ['the label comes before the flag', several, { ...inside('a', 'b'), network: 'b' }, { network: 'a' }, '10.0.1.2:80'],
  ['a flag whose network the container is not on changes nothing', several, { network: 'z' }, {}, '10.0.1.2:80'],
  ['with "container" shared networks do not matter', several, { ...inside('z'), addresses: 'container' }, {}, '10.0.1.2:80'],
  ['the network of the routing mesh of Swarm is not used', inSwarm, { addresses: 'container' }, {}, '10.0.1.9:80'],
  ['unless the label names it', inSwarm, { addresses: 'container' }, { network: 'ingress' }, '10.0.0.6:80'],
  [
    'another network with its name is used as any other',
    { networks: [ingress('a'.repeat(64)), network('sluice', '10.0.1.9')] },
    {},
    {},
    '10.0.0.6:80',
  ],
  ["the host's own network is loopback from the host", { networkMode: 'host', networks: [] }, {}, {}, '127.0.0.1:80'],
  [
    'a published port of all addresses is used at loopback',
    { publishedPorts: [{ containerPort: 80, hostIp: '0.0.0.0', hostPort: 32_768 }] },
    { addresses: 'published' },
    {},
    '127.0.0.1:32768',
  ],
  [
    'a published port of one address is used at that address',
    { publishedPorts: [{ containerPort: 80, hostIp: '192.0.2.1', hostPort: 32_768 }] },
    { addresses: 'published', ...inside('z') },
    {},
    '192.0.2.1:32768',
  ],
  [
    'from another machine too',
    { publishedPorts: [{ containerPort: 80, hostIp: '192.0.2.1', hostPort: 32_768 }] },
    { addresses: 'published', elsewhere: true },
    {},
    '192.0.2.1:32768',
  ],
  [
    'with "container" a data plane on another machine is assumed to reach the networks of containers',
    several,
    { addresses: 'container', elsewhere: true },
    {},
    '10.0.1.2:80',
  ],
] as const)
  test(claim, () => {
    const choice = choose(container, snapshot, site);
    assert.equal(choice.address, address, choice.reason);
    assert.ok(choice.reason.length > 10);
  });

for (const [claim, container, snapshot, site, reason, change] of [
  ['no exposed port: reports the label to set', { exposedTcpPorts: [] }, {}, {}, /exposes no TCP port/, /sluice\.port=PORT/],
  [
    'several exposed ports: lists them and the label of the site',
    { exposedTcpPorts: [80, 443] },
    {},
    { site: 'api' },
    /80, 443/,
    /sluice\.api\.port=80/,
  ],
  ['no common network: reports the command that connects them', several, inside('z'), {}, /a, b, c.*proxy.*z/, /network connect z app-1/],
  ['the network of the label is not one of the container’s', several, {}, { network: 'x' }, /not on the network "x"/, /a, b, c/],
  ['the network of the label is not shared', several, inside('b'), { network: 'a' }, /the data plane/, /connect/],
  ['no data plane has responded yet', {}, { reach: { kind: 'unknown' } }, {}, /no data plane/, /connect a data plane/],
  [
    "the host's own network is not reached from a container",
    { networkMode: 'host' },
    inside('shop'),
    {},
    /host's own network/,
    /put it on/,
  ],
  ['the network of another container has no address of its own', { networkMode: 'container:abc' }, {}, {}, /another container/, /labels/],
  ['no network', { networkMode: 'none', networks: [] }, {}, {}, /no address on any network/, /connect it/],
  ['a port that is not published', {}, { addresses: 'published' }, {}, /80 is not published/, /-p 127\.0\.0\.1::80/],
  [
    'a loopback port of the host is not reached from a container',
    { publishedPorts: [{ containerPort: 80, hostIp: '127.0.0.1', hostPort: 32_768 }] },
    { addresses: 'published', ...inside('shop') },
    {},
    /loopback/,
    /--docker-address/,
  ],
  ...['127.0.0.1', '0.0.0.0', '::', ''].map(
    (hostIp) =>
      [
        `a port that is published on "${hostIp}" has no address that another machine is known to reach`,
        { publishedPorts: [{ containerPort: 80, hostIp, hostPort: 32_768 }] },
        { addresses: 'published', elsewhere: true },
        {},
        /published on (?:every address|127\.0\.0\.1, the loopback address) of this machine, but a data plane is on another machine/,
        /-p ADDRESS:32768:80/,
      ] as const,
  ),
  [
    "the host's own network is not that of another machine",
    { networkMode: 'host' },
    { addresses: 'container', elsewhere: true },
    {},
    /another machine/,
    /put it on/,
  ],
  [
    'a port that another machine would need is not published',
    {},
    { addresses: 'published', elsewhere: true },
    {},
    /80 is not published/,
    /-p ADDRESS::80/,
  ],
] as const)
  test(claim, () => {
    const choice = choose(container as Partial<Container>, snapshot as Partial<EngineSnapshot>, site);
    assert.equal(choice.address, null);
    assert.match(choice.reason, reason);
    assert.match('change' in choice ? choice.change : '', change);
  });
