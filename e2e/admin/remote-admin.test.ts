import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { makePair } from '../../shared/certificates/testing/pairs.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Folder, TOKEN } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { REPOSITORY, run } from '../testing/process.ts';
import { ADDRESS, RemoteScene } from './remote/scene.ts';
import { noTwoMachines, UNCERTIFIED } from './remote/two-machines.ts';

const skip = noTwoMachines();
const site = (text: string): string => `a.test {\n  respond "${text}"\n}\n`;

test('a controller on another machine maintains the routes of a data plane across restarts of both', { skip }, async () => {
  await using scene = await RemoteScene.open();
  const controller = scene.startController(site('one'));
  await controller.said('waiting for the data plane');
  const first = await scene.startDataplane();
  await scene.sees('a.test', 'one');
  const asking = ['--admin', ADDRESS, '--dataplane-ca', scene.roots];
  assert.equal((await scene.command(['status', ...asking])).stdout.split('\n')[0], 'Nothing is wrong.');

  scene.write(site('two'));
  await scene.sees('a.test', 'two');
  const reload = await scene.command(['reload', ...asking]);
  assert.deepEqual([reload.code, reload.stdout], [0, 'Nothing changed: the configuration is already in effect.\n']);
  const explain = await scene.command(['explain', 'a.test', ...asking]);
  assert.deepEqual([explain.code, explain.stderr], [0, '']);

  await first.kill();
  scene.write(site('three'));
  const second = await scene.startDataplane();
  await scene.sees('a.test', 'three');

  await scene.startDataplane('--takeover');
  assert.equal((await second.exited).code, 0);
  scene.write(site('four'));
  await scene.sees('a.test', 'four');

  await controller.kill();
  assert.equal(await scene.visit('a.test'), 'four');
  scene.startController(site('five'));
  await scene.sees('a.test', 'five');
});

test('an untrusted connection or a missing token is rejected with advice', { skip }, async () => {
  await using scene = await RemoteScene.open();
  await scene.startDataplane();
  const routes = (admin: string, more: string[] = ['--dataplane-ca', scene.roots], env?: Record<string, string>) =>
    scene.command(['routes', '--json', '--admin', admin, ...more], env);
  assert.deepEqual([(await routes(ADDRESS)).stdout], ['[]\n']);
  const trusting = { SLUICE_ADMIN_TOKEN: TOKEN, NODE_EXTRA_CA_CERTS: scene.roots };
  assert.deepEqual([(await routes(ADDRESS, [], trusting)).stdout], ['[]\n']);
  const wrongName = ADDRESS.replace(/\/\/[\d.]+/, `//${UNCERTIFIED}`);
  const cases: [outcome: Awaited<ReturnType<typeof routes>>, code: number, words: RegExp][] = [
    [await routes(wrongName), 5, /its certificate is for 192\.0\.2\.1, not for 192\.0\.2\.3; use a name from the certificate/],
    [await routes(ADDRESS, []), 5, /not from an authority that is trusted here; pass the authority's root with --dataplane-ca PATH/],
    [await routes(ADDRESS, undefined, {}), 5, /unauthorized \(set SLUICE_ADMIN_TOKEN to the data plane's token\)/],
    [await routes(ADDRESS, undefined, { SLUICE_ADMIN_TOKEN: 'another' }), 5, /unauthorized/],
    [await routes(ADDRESS.replace('6190', '6189')), 5, /connection refused \(nothing listens there\)/],
    [await routes(ADDRESS.replace('https:', 'http:')), 2, /never sent to another machine unencrypted; write https:\/\/192\.0\.2\.1:6190/],
    [await routes(ADDRESS, [], { ...trusting, NODE_EXTRA_CA_CERTS: '', NODE_TLS_REJECT_UNAUTHORIZED: '0' }), 5, /not from an authority/],
  ];
  for (const [{ code, stderr }, expected, words] of cases) {
    assert.equal(code, expected, stderr);
    assert.match(stderr, words);
  }
  const controller = scene.startController(site('never'), wrongName);
  await controller.said(/"the data plane is unavailable; retrying"/);
  assert.match(controller.output, /not for 192\.0\.2\.3; use a name from the certificate/);
});

test('a replaced certificate is presented without a restart, and the controller’s stream continues', { skip }, async () => {
  await using scene = await RemoteScene.open();
  const dataplane = await scene.startDataplane();
  const controller = scene.startController(site('one'));
  await scene.sees('a.test', 'one');
  const status = (): ReturnType<RemoteScene['command']> => scene.command(['status', '--admin', ADDRESS, '--dataplane-ca', scene.roots]);
  await scene.certify();
  await dataplane.said('the Admin API uses a new certificate');
  assert.equal((await status()).code, 0);
  await scene.certify('stranger');
  await until('the untrusted certificate', async () => /self-signed/.test((await status()).stderr));
  scene.write(site('two'));
  await scene.sees('a.test', 'two');
  assert.equal(controller.output.includes('the data plane is away'), false);
  writeFileSync(scene.folder.file('tls.crt'), 'torn');
  await dataplane.said('the new certificate of the Admin API is not used and the previous one stays');
  await scene.certify();
  await until('the good certificate', async () => (await status()).code === 0);
});

test('the documented OpenSSL authority and certificate work', {
  skip: skip ?? missing('openssl'),
}, async () => {
  await using scene = await RemoteScene.open();
  const lines = /```sh\n(openssl req -x509[\s\S]*?)```/.exec(readFileSync(`${REPOSITORY}docs/operations.md`, 'utf8'))?.[1] ?? '';
  const { status, stderr } = spawnSync('sh', ['-ec', lines], { cwd: scene.folder.path, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const made = (name: string) => readFileSync(scene.folder.file(name), 'utf8');
  scene.install({ certificate: made('admin.crt'), privateKey: made('admin.key'), root: made('ca.pem') });
  await scene.startDataplane();
  const { code, stdout } = await scene.command(['routes', '--admin', ADDRESS], {
    SLUICE_ADMIN_TOKEN: TOKEN,
    SLUICE_DATAPLANE_CA: scene.roots,
  });
  assert.deepEqual([code, stdout], [0, 'There are no routes.\n']);
});

test('a data plane does not start if its Admin API would be reachable without TLS and a token', async () => {
  using folder = new Folder();
  const [certificate, key, other] = ['tls.crt', 'tls.key', 'other.key'].map((name) => folder.file(name)) as [string, string, string];
  const pair = await makePair(['localhost']);
  writeFileSync(certificate, pair.certificate);
  writeFileSync(key, pair.privateKey);
  writeFileSync(other, (await makePair(['localhost'])).privateKey);
  const port = await freePort();
  const start = (flags: string[], env: Record<string, string> = { SLUICE_ADMIN_TOKEN: TOKEN }) =>
    run(['dataplane', '--state-dir', folder.file('state'), '--http-port', `${port}`, ...flags], env);
  const remote = ['--admin-listen', `127.0.0.1:${await freePort()}`, '--admin-allow-remote', '--admin-tls-cert', certificate];
  const cases: [Awaited<ReturnType<typeof start>>, RegExp][] = [
    [
      await start(['--admin-listen', '0.0.0.0:6190']),
      /--admin-listen 0\.0\.0\.0:6190 lets other machines reach the Admin API; if that is intended, add --admin-allow-remote/,
    ],
    [await start(['--admin-allow-remote']), /--admin-allow-remote needs a certificate: --admin-tls-cert PATH --admin-tls-key PATH/],
    [
      await start([...remote, '--admin-tls-key', key], {}),
      /needs a token, and SLUICE_ADMIN_TOKEN is not set; make one with: openssl rand -hex 32/,
    ],
    [
      await start([...remote, '--admin-tls-key', other]),
      /other\.key: the key does not belong to the certificate in \S+tls\.crt; use the key that the certificate was issued for/,
    ],
    [await start([...remote, '--admin-tls-key', folder.file('none')]), /none is missing; put it there/],
  ];
  for (const [{ code, stderr }, words] of cases) {
    assert.equal(code, 2, stderr);
    assert.match(stderr, words);
    assert.match(stderr, /^sluice dataplane: [^\n]+\n$/);
  }
});
