import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteSpec } from '../../shared/route.ts';
import { canonicalRoute } from './canonical.ts';
import { desire, type Listing, type SourceView } from './desire.ts';
import { sampleListing, sampleRoute } from './testing/sample-listing.ts';

const views = (...listings: Listing[]): Map<string, SourceView> =>
  new Map(listings.map((listing) => [listing.source, { listing, errors: [] }]));
const docker = (domains: string[]) => sampleListing(domains, { source: 'docker' });
const kubernetes = (domains: string[]) => sampleListing(domains, { source: 'kubernetes' });

test('a domain wanted by several sources goes to the file, then the cluster, then the containers', () => {
  const desired = desire(
    views(docker(['a.example', 'b.example', 'c.example']), kubernetes(['a.example', 'b.example']), sampleListing(['a.example'])),
  );
  assert.deepEqual(
    [...desired.routes].map(([domain, { source }]) => [domain, source]),
    [
      ['a.example', 'file'],
      ['b.example', 'kubernetes'],
      ['c.example', 'docker'],
    ],
  );
});

test('the loser of a domain is reported with the owner', () => {
  const { problems } = desire(views(docker(['a.example']), sampleListing(['a.example'])));
  assert.deepEqual(problems, [
    {
      source: 'docker',
      origin: 'docker a.example',
      domain: 'a.example',
      code: 'domain_taken',
      message: 'a.example belongs to file a.example, which takes precedence',
    },
  ]);
});

test('the loser takes over when the owner’s route is removed', () => {
  const after = desire(views(docker(['a.example']), sampleListing([])));
  assert.equal(after.routes.get('a.example')?.source, 'docker');
  assert.deepEqual(after.problems, []);
});

test('within a source the first one listed wins', () => {
  const { routes, problems } = desire(
    views(sampleListing([sampleRoute('a.example', '127.0.0.1:1'), sampleRoute('a.example', '127.0.0.1:2')])),
  );
  assert.equal(routes.get('a.example')?.route.upstream, '127.0.0.1:1');
  assert.equal(problems.length, 1);
});

test('the same views in another order give an identical result', () => {
  const one = desire(views(sampleListing(['b.example', 'a.example']), docker(['d.example', 'c.example'])));
  const other = desire(views(docker(['c.example', 'd.example']), sampleListing(['a.example', 'b.example'])));
  const bytes = ({ routes }: typeof one) => [...routes.values()].map(({ text }) => text).join('\n');
  assert.equal(bytes(one), bytes(other));
  assert.equal(one.fingerprint, other.fingerprint);
});

test('so do the same certificates in another order', () => {
  const certificates = ['b.example', 'a.example', 'c.example'].map((name) => ({
    domains: [name],
    certificate: name,
    private_key: name,
  }));
  const one = desire(views(sampleListing([], { certificates })));
  const other = desire(views(sampleListing([], { certificates: certificates.toReversed() })));
  assert.deepEqual([...one.certificates.keys()], ['a.example', 'b.example', 'c.example']);
  assert.equal(one.fingerprint, other.fingerprint);
});

test('a different target gives a different fingerprint', () => {
  const one = desire(views(sampleListing([sampleRoute('a.example', '127.0.0.1:1')])));
  const other = desire(views(sampleListing([sampleRoute('a.example', '127.0.0.1:2')])));
  assert.notEqual(one.fingerprint, other.fingerprint);
});

test('equal routes have equal text regardless of member order', () => {
  const route = sampleRoute('a.example');
  const reversed = Object.fromEntries(Object.entries(route).reverse()) as RouteSpec;
  assert.equal(canonicalRoute(reversed), canonicalRoute(route));
});

test('a failed source keeps its last listing and reports the line of the error', () => {
  const desired = desire(
    new Map([['file', { listing: sampleListing(['a.example']), errors: ['sites/Sluicefile:12:3: unknown directive "foo"'] }]]),
  );
  assert.deepEqual([...desired.routes.keys()], ['a.example']);
  assert.equal(desired.problems[0]?.origin, 'sites/Sluicefile:12');
});

test('a source that has only failed is known but not listed', () => {
  const desired = desire(new Map([['file', { listing: null, errors: ['Sluicefile:1:1: no'] }]]));
  assert.deepEqual([desired.sources, desired.listed, desired.settings], [['file'], [], null]);
});

test('the globals come from the source that has them', () => {
  const desired = desire(views(docker(['c.example']), sampleListing([], { settings: { http_port: 8080 } })));
  assert.deepEqual(desired.settings, { http_port: 8080 });
});

test('where the file and a cluster have globals and certificates for the same names, those of the file apply', () => {
  const certificate = (text: string) => ({ domains: ['b.example', 'a.example'], certificate: text, private_key: text });
  const ofFile = sampleListing([], { settings: { http_port: 8080 }, certificates: [certificate('file')] });
  const settings = { http_port: 9090, bind: '10.0.0.1' };
  const ofCluster = sampleListing([], { source: 'kubernetes', settings, certificates: [certificate('cluster')] });
  const desired = desire(views(ofCluster, ofFile));
  assert.deepEqual(desired.settings, { http_port: 8080, bind: '10.0.0.1' });
  assert.deepEqual(
    [...desired.certificates.values()].map(({ source, domains }) => [source, domains]),
    [['file', ['a.example', 'b.example']]],
  );
});

test('any number of problems of a source is reported', () => {
  const problem = { source: 'docker', origin: 'container app', domain: null, code: 'bad_label', message: 'no' };
  const listing = { ...sampleListing(['a.example']), problems: Array.from({ length: 200_000 }, () => problem) };
  assert.equal(desire(views(listing)).problems.length, 200_000);
});

test('a route too large for a line of a frame is reported as a problem', () => {
  const handles = Array.from({ length: 4_500 }, (_, at) => ({ path: `/${at}`, respond: { status: 200, body: 'x'.repeat(8_000) } }));
  const { routes, problems } = desire(views(sampleListing([sampleRoute('big.example', '127.0.0.1:1', { handles }), 'a.example'])));
  assert.deepEqual([...routes.keys()], ['a.example']);
  assert.equal(problems[0]?.code, 'route_too_large');
});
