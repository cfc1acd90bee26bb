import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readFlags, UsageError } from '../shared/runtime/flags.ts';
import { CONTROLLER_FLAGS, type ControllerSettings, controllerSettings } from './flags.ts';

function configFile(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'flags-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'Sluicefile');
  writeFileSync(path, '');
  return path;
}

const settings = (argv: string[], env: Record<string, string> = {}): ControllerSettings =>
  controllerSettings('controller', readFlags('controller', CONTROLLER_FLAGS, argv, env));

test('reads flags and environment variables; a flag takes precedence', (t) => {
  const config = configFile(t);
  const env = { SLUICE_CONFIG: config, SLUICE_DATAPLANE: '127.0.0.1:1,unix:/a', SLUICE_ID: 'env', SLUICE_LOG_LEVEL: 'warn' };
  const read = settings(['--id', 'flag', '--listen', '[::1]:0'], env);
  assert.deepEqual(read, {
    config,
    docker: null,
    kubernetes: null,
    dataplanes: [
      { kind: 'tcp', host: '127.0.0.1', port: 1 },
      { kind: 'unix', path: '/a' },
    ],
    listen: { host: '::1', port: 0 },
    id: 'flag',
    logLevel: 'warn',
  });
});

test('a data plane that is named twice is connected to once', (t) => {
  const named = ['unix:/a/admin.sock', 'unix:/a/../a/admin.sock', '127.0.0.1:2', '127.0.0.1:2'].flatMap((address) => [
    '--dataplane',
    address,
  ]);
  const { dataplanes } = settings(['--config', configFile(t), ...named]);
  assert.deepEqual(
    dataplanes.map(({ kind }) => kind),
    ['unix', 'tcp'],
  );
});

test('--dataplane may be repeated', (t) => {
  assert.equal(settings(['--config', configFile(t), '--dataplane', 'unix:/a', '--dataplane', 'localhost:2']).dataplanes.length, 2);
});

test('verifies a data plane on another machine with the given roots', (t) => {
  const config = configFile(t);
  const roots = join(config, '..', 'ca.pem');
  const pem = readFileSync(new URL('sources/file/golden/imported/certificates/ca.pem', import.meta.url), 'utf8');
  writeFileSync(roots, pem);
  const [address, local] = settings([
    '--config',
    config,
    '--dataplane',
    'https://edge.test:6190,unix:/a',
    '--dataplane-ca',
    roots,
  ]).dataplanes;
  assert.ok(address?.kind === 'tls' && address.roots?.path === roots && address.roots.pem.includes('BEGIN CERTIFICATE'));
  assert.deepEqual(local, { kind: 'unix', path: '/a' });
  const env = { SLUICE_DATAPLANE_CA: roots, SLUICE_DATAPLANE: 'https://edge.test:6190' };
  assert.deepEqual(settings(['--config', config], env).dataplanes, [address]);
  // In the environment it may be meant for other commands.
  assert.deepEqual(settings(['--config', config, '--dataplane', 'unix:/a'], env).dataplanes, [local]);
  writeFileSync(roots, 'nonsense');
  for (const [argv, message] of [
    [['--dataplane', 'https://edge.test:6190', '--dataplane-ca', '/none.pem'], /--dataplane-ca "\/none\.pem": no such file$/],
    [['--dataplane', 'https://edge.test:6190', '--dataplane-ca', roots], /--dataplane-ca ".*ca\.pem": it contains no certificate/],
  ] as const)
    assert.throws(() => settings(['--config', config, ...argv]), message);
  writeFileSync(roots, pem);
  assert.throws(
    () => settings(['--config', config, '--dataplane', 'unix:/a', '--dataplane-ca', roots]),
    /--dataplane-ca is only for data planes over TLS; specify one with --dataplane https:\/\/HOST:PORT$/,
  );
});

test('containers for a data plane on another machine require --docker-address', () => {
  const read = (...argv: string[]) => settings(['--docker', '/run/engine.sock', ...argv]).docker?.elsewhere;
  assert.throws(
    () => read('--dataplane', 'https://edge.test:6190'),
    /--docker for a data plane on another machine needs --docker-address: published for/,
  );
  assert.equal(read('--dataplane', 'https://edge.test:6190', '--docker-address', 'published'), true);
  assert.equal(read('--dataplane', 'https://localhost:6190'), false);
});

test('an invalid value is reported in one line that names the flag', (t) => {
  const config = configFile(t);
  const cases: [string[], RegExp][] = [
    [
      ['--dataplane', '10.0.0.1:6190'],
      /^sluice controller: --dataplane "10\.0\.0\.1:6190": the token is never sent .* unencrypted; write https:\/\/10\.0\.0\.1:6190, or/,
    ],
    [['--dataplane', 'nowhere'], /HOST:PORT or unix:PATH/],
    [['--listen', '6191'], /HOST:PORT/],
    [['--id', 'a b'], /1 to 64 letters/],
    [['--log-level', 'loud'], /debug, info, warn, error, fatal/],
    [['--docker', 'ssh://host'], /--docker "ssh:\/\/host": .* not over ssh or TLS/],
    [['--docker', '--docker-address', 'best'], /one of auto, container, published/],
    [['--docker-network', 'edge'], /--docker-network needs --docker/],
    [['--ingress-class', 'edge'], /--ingress-class needs --kubernetes/],
    [['--kubernetes', '--namespaces', 'shop,Shop'], /--namespaces "shop,Shop": "Shop" is not the name of a namespace/],
    [['--kubernetes', '--ingress-class', 'a b'], /a name is lower-case letters, digits, dots and hyphens/],
    [['--publish-address', '192.0.2.1'], /--publish-address needs --kubernetes/],
    [['--kubernetes', '--publish-address', '192.0.2.1,an edge'], /"an edge" is neither an IP address nor a host name/],
    [['--kubernetes', '--publish-service', 'edge'], /a Service is NAMESPACE\/NAME/],
    [['--kubernetes', '--publish-service', 'a/b', '--publish-address', 'a.example'], /exclude each other/],
    [['--kubernetes', '--port-map', '80=8080'], /--port-map "80=8080": .*is not two ports such as 80:8080/],
    [['stray'], /takes no arguments, got "stray"/],
  ];
  for (const [argv, message] of cases)
    assert.throws(
      () => settings(['--config', config, ...argv]),
      (error) => error instanceof UsageError && message.test(error.message) && !error.message.includes('\n'),
      argv.join(' '),
    );
});

test('names a config file that does not exist', () => {
  assert.throws(() => settings(['--config', '/none/x']), new UsageError('sluice controller: the config file /none/x does not exist'));
});

test('names a directory in the place of the config file', () => {
  const why = 'is a directory: name the file in it, or create the file that is mounted there';
  assert.throws(() => settings(['--config', '/']), new UsageError(`sluice controller: the config file / ${why}`));
});

test('names a config file that can be read only once, such as a pipe', () => {
  const why = 'is not a regular file: it is read again whenever it changes, so write it to a file';
  assert.throws(() => settings(['--config', '/dev/null']), new UsageError(`sluice controller: the config file /dev/null ${why}`));
});

test('with containers as a source the config file may be missing, unless it was specified', () => {
  const read = (...argv: string[]) => settings(['--docker', '/run/engine.sock', ...argv]);
  const { config, docker } = read('--docker-network', 'edge', '--docker-address', 'published');
  assert.deepEqual(
    [config, docker],
    [null, { engine: { kind: 'unix', path: '/run/engine.sock' }, addresses: 'published', network: 'edge', elsewhere: false }],
  );
  assert.throws(() => read('--config', '/none/x'), /the config file \/none\/x does not exist/);
});

test('with a cluster as a source the config file may be missing, and the class is sluice', () => {
  const { config, kubernetes } = settings(['--kubernetes', '--namespaces', 'shop, blog,shop']);
  assert.equal(config, null);
  assert.deepEqual(kubernetes, {
    kubeconfig: null,
    ingressClass: 'sluice',
    namespaces: ['shop', 'blog'],
    publish: null,
    portMap: new Map(),
  });
  const env = { SLUICE_KUBERNETES: '1', SLUICE_KUBECONFIG: '/etc/kubeconfig', SLUICE_INGRESS_CLASS: 'edge' };
  assert.deepEqual(settings([], env).kubernetes, {
    kubeconfig: '/etc/kubeconfig',
    ingressClass: 'edge',
    namespaces: null,
    publish: null,
    portMap: new Map(),
  });
});

test('SLUICE_DOCKER enables or disables discovery, or names the engine', (t) => {
  const config = configFile(t);
  const engine = (value: string) => settings(['--config', config], { SLUICE_DOCKER: value, SLUICE_DOCKER_NETWORK: 'edge' }).docker?.engine;
  assert.deepEqual(engine('tcp://proxy:2375'), { kind: 'tcp', host: 'proxy', port: 2375 });
  assert.equal(engine('1')?.kind, 'unix');
  assert.equal(engine('0'), undefined);
});

test('the addresses that Ingresses report are fixed ones, in one order, or those of a Service', () => {
  const publish = (...args: string[]) => settings(['--kubernetes', ...args]).kubernetes?.publish;
  assert.deepEqual(publish('--publish-address', 'Edge.example, 192.0.2.1,::1,0:0::1,192.0.2.1'), {
    kind: 'addresses',
    addresses: [
      { kind: 'ip', value: '192.0.2.1' },
      { kind: 'ip', value: '::1' },
      { kind: 'hostname', value: 'edge.example' },
    ],
  });
  assert.deepEqual(publish('--publish-service', 'edge/sluice'), { kind: 'service', namespace: 'edge', name: 'sluice' });
});
