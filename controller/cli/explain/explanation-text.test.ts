import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Explanation } from '../../../shared/wire/status.ts';
import { sampleRoute } from '../../desired/testing/sample-listing.ts';
import type { Terminal } from '../command/command.ts';
import { describeExplanation } from './explanation-text.ts';

const PIPE: Terminal = { out: () => undefined, err: () => undefined, columns: null, colour: false };
const SINCE = '2026-01-01T00:00:00.000Z';
const BLOCKS = [{ path: '/x' }];
const EXPLANATION: Explanation = {
  url: 'http://a.example/x',
  verdict: 'forwarded to one of 2 targets',
  routed: true,
  route: { ...sampleRoute('a.example', undefined, { handles: BLOCKS }), controller: 'controller', overrides: null, since: SINCE },
  matched: 'a.example',
  port: 8080,
  block: { path: '/x', index: 0 },
  policies: [
    { name: 'redirect', verdict: '/old does not match' },
    { name: 'rate_limit', verdict: '5 of 5 left' },
  ],
  targets: [
    { address: '10.0.0.1:80', tls: false, healthy: true, reason: null, in_flight: 2, domains: [], domain_count: 1 },
    { address: '10.0.0.2:80', tls: false, healthy: false, reason: 'connection\u001b refused', in_flight: 0, domains: [], domain_count: 1 },
  ],
  certificate: 'none needed: plain HTTP',
  problems: [],
  near: null,
};

test('shows the facts behind the verdict in the order of evaluation', () => {
  assert.equal(
    describeExplanation(PIPE, EXPLANATION),
    [
      'http://a.example/x: forwarded to one of 2 targets',
      `  route        a.example, from Sluicefile:a.example, applied by controller, unchanged since ${SINCE}`,
      '  port         8080 (HTTP)',
      '  block        handle /x, the only block of the site',
      '  policies     1. redirect: /old does not match',
      '               2. rate_limit: 5 of 5 left',
      '  targets      10.0.0.1:80: healthy, 2 in flight',
      '               10.0.0.2:80: out of rotation, connection  refused, 0 in flight',
      '  certificate  none needed: plain HTTP',
      '',
    ].join('\n'),
  );
});

test('a site that is only on some ports shows them', () => {
  const { route } = EXPLANATION;
  assert.ok(route);
  const text = describeExplanation(PIPE, {
    ...EXPLANATION,
    url: 'https://a.example/',
    port: 8443,
    route: { ...route, ports: [8443, 9443] },
  });
  assert.match(text, /port +8443 \(HTTPS\); the site is only on 8443, 9443\n/);
});

test('a manually posted route shows what it overrides, and until when', () => {
  const route = { ...sampleRoute('a.example', undefined, { source: null, origin: undefined }), controller: null, since: SINCE };
  const text = describeExplanation(PIPE, { ...EXPLANATION, route: { ...route, overrides: sampleRoute('a.example') } });
  assert.match(text, /route +a\.example, posted manually, /);
  assert.match(text, /overrides +a\.example from Sluicefile:a\.example, until the manually posted route is deleted/);
});

test('conditions of a route that do not hold are listed with their reason', () => {
  const { route } = EXPLANATION;
  assert.ok(route);
  const holds = { holds: true, reason: 'served', since: SINCE };
  const text = (resolved: object) =>
    describeExplanation(PIPE, {
      ...EXPLANATION,
      route: { ...route, conditions: { accepted: holds, resolved: { ...holds, ...resolved }, programmed: holds } },
    });
  assert.match(
    text({ holds: false, reason: 'no target is available' }),
    /^ {2}conditions +not resolved since 20.*: no target is available$/m,
  );
  assert.doesNotMatch(text({}), /conditions/);
});

test('separates errors of the config file from problems of the host', () => {
  const mistake = {
    source: 'file',
    origin: 'Sluicefile:2',
    domain: null,
    code: 'source_failed',
    message: 'Sluicefile:2:3: no',
    since: SINCE,
  };
  const own = { source: 'docker', origin: 'web-1', domain: 'a.example', code: 'domain_taken', message: 'belongs to another', since: SINCE };
  const routed = describeExplanation(PIPE, { ...EXPLANATION, problems: [own, mistake] });
  assert.match(
    routed,
    /problems +web-1: belongs to another \(since .*\)\n +the config file has had errors since .*: its last good version stays in effect\n +Sluicefile:2:3: no\n/,
  );
  const unrouted = { ...EXPLANATION, routed: false, route: null, block: null, policies: [], targets: [], problems: [mistake] };
  assert.match(
    describeExplanation(PIPE, { ...unrouted, near: 'b.example is routed' }),
    /closest +b\.example is routed\n +problems +the config file .*: sites that are new in it are not routed/s,
  );
});

/** The line for one fact. */
const fact = (name: string, more: Partial<Explanation>): string | undefined =>
  new RegExp(`^  ${name} +(.*)$`, 'm').exec(describeExplanation(PIPE, { ...EXPLANATION, ...more }))?.[1];

test('shows a block with its directive, its position and the path that the upstream receives', () => {
  const handles = [{ path: '/x' }, { path: '/api/*', strip_prefix: true }, { path: null }];
  const route = { ...sampleRoute('a.example', undefined, { handles }), controller: 'controller', overrides: null, since: SINCE };
  const block = (index: number, path: string | null, url = 'http://a.example/api/users') =>
    fact('block', { route, url, block: { path, index } });
  assert.equal(block(1, '/api/*'), 'handle_path /api/*, number 2 of 3; the upstream sees /users');
  assert.equal(block(1, '/api/*', 'http://a.example/%61pi/users'), 'handle_path /api/*, number 2 of 3');
  const policies = [{ name: 'forwarded', verdict: 'GET /v2/users with Host: a.example' }];
  const said = fact('block', { route, url: 'http://a.example/api/users', block: { path: '/api/*', index: 1 }, policies });
  assert.equal(said, 'handle_path /api/*, number 2 of 3');
  assert.equal(block(2, null), 'handle (every path), number 3 of 3');
  assert.equal(fact('block', { route, block: null }), 'none of 3 matches: the site itself responds');
});

test('shows a target’s transport unless it is the default', () => {
  const [target] = EXPLANATION.targets;
  assert.ok(target);
  assert.match(fact('targets', { targets: [{ ...target, transport: 'h2c' }] }) ?? '', /10\.0\.0\.1:80 \(h2c\): healthy/);
});

test('shows how often a target has failed since the start, and why the last time', () => {
  const [target] = EXPLANATION.targets;
  assert.ok(target);
  const failing = (count: number) =>
    fact('targets', { targets: [{ ...target, last_failure: { code: 'refused', reason: 'the target refused', at: SINCE, count } }] });
  assert.equal(failing(26), `10.0.0.1:80: healthy, 2 in flight; failed 26 times, last at ${SINCE}: the target refused`);
  assert.equal(failing(1), `10.0.0.1:80: healthy, 2 in flight; failed once, last at ${SINCE}: the target refused`);
});

test('a response from a policy is not attributed to the targets', () => {
  assert.equal(fact('targets', { verdict: 'answered by redir: 301 to /new' }), undefined);
  assert.equal(fact('behind', { verdict: 'answered by redir: 301 to /new' }), '10.0.0.1:80: healthy, 2 in flight');
});

test('the catch-all route is described as such', () => {
  assert.match(fact('route', { matched: '*' }) ?? '', /^\* \(every host without its own route\), from /);
});
