import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerStatus } from '../../status/containers.ts';
import { admin, sluice } from '../testing/run-command.ts';
import { describeContainer } from './containers.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const yes = (reason: string) => ({ holds: true, reason, since: SINCE });
const no = (reason: string) => ({ holds: false, reason, since: SINCE });
const WEB: ContainerStatus = {
  id: 'a1',
  container: 'web-1',
  origin: 'container web-1 (a1)',
  site: null,
  domains: ['shop.example'],
  others: { count: 0, names: [] },
  accepted: yes('its labels are valid'),
  resolved: yes('its address on the network shop'),
  address: '172.18.0.2:80',
  change: null,
  programmed: { 'unix:/d': yes('served') },
};
const SICK = {
  ...WEB,
  container: 'web-2',
  origin: 'container web-2 (a2)',
  resolved: no('its HEALTHCHECK fails'),
  change: 'it passes again',
};
const PAIRED = { ...WEB, others: { count: 1, names: ['web-2'] } };
const WRONG = {
  ...WEB,
  container: 'web-3',
  origin: 'container web-3 (a3)',
  accepted: no('sluice.port "x": no'),
  programmed: {},
};

const DATAPLANE = {
  version: '0.1.0',
  ready: true,
  reason: null,
  uptime_secs: 1,
  routes: 1,
  overridden: 0,
  workers: { configured: 1, serving: 1, restarts: 0 },
  controllers: [{ id: 'c', connected: true, sources: ['docker'], revision: 1, last_applied: SINCE }],
  problems: [],
  last_reload: null,
  warnings: [],
  upstreams: { count: 0, healthy: 0, out: [] },
};

test('shows the first condition that is not met, with its reason and what would change it', () => {
  assert.deepEqual([WEB, SICK, WRONG, { ...WRONG, programmed: WEB.programmed }, { ...WEB, programmed: {} }].map(describeContainer), [
    `web-1 (a1): accepted, resolved, programmed since ${SINCE}: its address on the network shop`,
    `web-2 (a2): accepted, not resolved since ${SINCE}: its HEALTHCHECK fails; what would change it: it passes again`,
    `web-3 (a3): not accepted since ${SINCE}: sluice.port "x": no`,
    `web-3 (a3): not accepted, routed as before since ${SINCE}: sluice.port "x": no`,
    `web-1 (a1): accepted, resolved, not programmed since ${SINCE}: no data plane has applied its route yet`,
  ]);
});

test('lists the other containers of the pool, and counts them if there are many', () => {
  const beside = (count: number, ...names: string[]) => describeContainer({ ...WEB, others: { count, names } });
  assert.match(beside(2, 'web-2', 'web-3'), /: its address on the network shop; also in its pool: web-2, web-3$/);
  assert.match(beside(5, 'web-2', 'web-3'), /; also in its pool: web-2, web-3 and 3 more$/);
});

test('status lists every container of the controller, also as JSON', async (t) => {
  const argv = ['status', '--admin', await admin(t, { 'GET /status': [200, DATAPLANE] })];
  const controller = await admin(t, { 'GET /status': [200, { containers: [PAIRED, SICK] }] });
  const { out } = await sluice([...argv, '--controller', controller]);
  assert.match(
    out,
    /^CONTAINER +POOL +ADDRESS +STATE +SINCE +WHY\nweb-1 +shop\.example \(\+1\) +172\.18\.0\.2:80 +accepted, resolved, programmed /m,
  );
  assert.match(out, /^web-2 .* accepted, not resolved .* its HEALTHCHECK fails; what would change it: it passes again$/m);
  const { containers } = JSON.parse((await sluice([...argv, '--json', '--controller', controller])).out) as { containers: unknown };
  assert.deepEqual(containers, [PAIRED, SICK]);
});

test('status lists a few domains of a container and counts the others, so that its lines stay readable', async (t) => {
  const argv = ['status', '--admin', await admin(t, { 'GET /status': [200, DATAPLANE] })];
  const shown = async (count: number) => {
    const domains = Array.from({ length: count }, (_, number) => `${number}.example`);
    const controller = await admin(t, { 'GET /status': [200, { containers: [{ ...PAIRED, domains }] }] });
    const { out } = await sluice([...argv, '--controller', controller]);
    return /^web-1 +(.*?) {2,}/m.exec(out)?.[1];
  };
  assert.equal(await shown(4), '0.example, 1.example, 2.example, 3.example (+1)');
  assert.equal(await shown(20_000), '0.example, 1.example, 2.example, 3.example and 19996 more (+1)');
});

test('status reports an unreachable controller and shows everything else', async (t) => {
  const argv = ['status', '--admin', await admin(t, { 'GET /status': [200, DATAPLANE] })];
  const { code, out } = await sluice([...argv, '--controller', '127.0.0.1:1']);
  assert.equal(code, 0);
  assert.match(out, /^Nothing is wrong\./);
  assert.match(
    out,
    /Note: containers and objects of a cluster are not listed: the controller at 127\.0\.0\.1:1 cannot be queried: connection refused/,
  );
});

test('explain lists the containers of a host, even if it is not routed', async (t) => {
  const answer = { url: 'http://shop.example/', verdict: '404: not routed', routed: false, route: null, matched: null, block: null };
  const explanation = { ...answer, policies: [], targets: [], certificate: '', problems: [], near: null };
  const asked: Record<string, [number, unknown]> = { 'GET /explain?url=shop.example': [200, explanation] };
  const controller = await admin(t, { 'GET /status': [200, { containers: [WRONG, { ...WEB, domains: ['other.example'] }] }] });
  const { code, out } = await sluice(['explain', 'shop.example', '--admin', await admin(t, asked), '--controller', controller]);
  assert.equal(code, 1);
  assert.match(out, /^ {2}containers +web-3 \(a3\): not accepted /m);
  assert.ok(!out.includes('web-1'));
});
