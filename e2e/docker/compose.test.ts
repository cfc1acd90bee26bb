import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { type Answer, visit } from '../testing/http.ts';
import { Compose } from './testing/compose.ts';
import { Engine } from './testing/engine.ts';
import { IMAGE } from './testing/image/image.ts';
import { buildProduct, importSocketProxy, PRODUCT } from './testing/image/product.ts';
import { Load } from './testing/load.ts';
import { ownNetwork } from './testing/own-network.ts';
import { upgradesInContainers } from './upgrades.ts';

const skip = ownNetwork() ?? missing('docker-compose') ?? missing('haproxy');

/** The files are run unchanged: on port 80, in the tests' own network. */
const at = (host: string): Promise<Answer> => visit(80, host);
const served = (host: string): Promise<Answer> =>
  until(`${host} to be served`, async () => {
    const answer = await at(host);
    return answer.status === 200 ? answer : undefined;
  });

describe('the image and the unchanged compose files', { skip }, () => {
  let engine: Engine;
  let main: Compose;
  before(async () => {
    engine = await Engine.start();
    main = new Compose(engine, 'docker-compose.yml');
    await buildProduct(engine);
    await importSocketProxy(engine);
  });
  after(async () => {
    await engine?.[Symbol.asyncDispose]();
  });

  test('one image runs both commands, without root, npm or sources', async () => {
    const script = [
      'sluice version',
      'sluice dataplane --help | head -n 1',
      'sluice controller --help | head -n 1',
      'echo user $(id -u):$(id -g)',
      'node --version',
      'ls -d /opt/sluice/controller /opt/sluice/node_modules/typescript /usr/bin/npm 2>/dev/null',
      'for place in / /opt/sluice /opt/sluice/dist /var/lib/sluice /etc/sluice/certs /run/sluice; do test -w $place && echo writes $place; done',
    ].join('; ');
    const container = await engine.docker.createContainer({ Image: PRODUCT, Entrypoint: ['sh', '-c', script], Tty: true });
    const stream = await container.attach({ stream: true, stdout: true, stderr: true });
    await container.start();
    const lines = (await textOf(stream)).split(/\r?\n/).filter(Boolean);
    assert.match(lines.shift() ?? '', /^sluice \d+\.\d+\.\d+ \(Node 26\./);
    assert.deepEqual(lines, [
      'Usage: sluice dataplane [flags]',
      'Usage: sluice controller [flags]',
      'user 10001:10001',
      `${process.version}`,
      'writes /var/lib/sluice',
      'writes /etc/sluice/certs',
      'writes /run/sluice',
    ]);
    const [product, base] = await Promise.all([PRODUCT, IMAGE].map((name) => engine.docker.getImage(name).inspect()));
    const own = ((product?.Size ?? 0) - (base?.Size ?? 0)) / 1e6;
    assert.ok(own < 225, `${own} MB beside the base, of which Node is 150`);
  });

  test('a missing group of the engine’s socket is reported with the command that finds it', async () => {
    const { code, output } = await main.try(['config'], {});
    assert.notEqual(code, 0);
    assert.match(output, /DOCKER_GID|stat -c %g \/var\/run\/docker\.sock/);
  });

  test('containers are served by label, and only the controller has the socket, and no network', async () => {
    await main.run('up', '--detach');
    await new Compose(engine, 'examples/replicas.yml').run('--project-name', 'shop', 'up', '--detach');
    await served('shop.localhost');
    const seen = new Set<string>();
    await until('both replicas to answer', async () => seen.add((await at('shop.localhost')).text).size === 2);
    const [dataplane, controller] = await Promise.all(
      ['dataplane', 'controller'].map(async (service) => engine.docker.getContainer(await main.idOf(service)).inspect()),
    );
    for (const container of [dataplane, controller]) {
      assert.equal(container?.Config.User, '10001:10001');
      assert.equal(container?.HostConfig.ReadonlyRootfs, true);
      assert.deepEqual(container?.HostConfig.CapDrop, ['ALL']);
    }
    const sockets = (mounts: readonly { Source: string }[] = []) => mounts.filter(({ Source }) => Source === engine.socket).length;
    assert.deepEqual([sockets(dataplane?.Mounts), sockets(controller?.Mounts)], [0, 1]);
    assert.deepEqual(Object.keys(controller?.NetworkSettings.Networks ?? {}), ['compose_control']);
    assert.match(await inside('dataplane', 'sluice', 'status'), /shop\.localhost|2 of 2|1 route/);
    assert.equal(await inside('dataplane', 'cat', '/proc/sys/net/ipv4/tcp_migrate_req'), '1');
  });

  test('the dashboard is printed as an address of this machine, and reads through the admin socket', async () => {
    await main.run('run', '--detach', '--service-ports', '--name', 'the-dashboard', 'dashboard');
    const container = engine.docker.getContainer('the-dashboard');
    const log = async () => String(await container.logs({ stdout: true, stderr: true }));
    const address = await until('the address of the dashboard', async () => /http:\/\/127\.0\.0\.1:6199\S+/.exec(await log())?.[0]);
    const entered = await until('its port to be open', () => fetch(address, { redirect: 'manual' }).catch(() => undefined));
    assert.equal(entered.status, 303);
    const cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const status = await fetch(new URL('../status', new URL(entered.headers.get('location') ?? '', address)), { headers: { cookie } });
    assert.equal(((await status.json()) as { ready: boolean }).ready, true);
    await container.kill({ signal: 'SIGINT' });
    assert.equal((await container.wait()).StatusCode, 0);
    await container.remove();
  });

  test('compose recreates an app with a single container without lost requests', async () => {
    const blog = new Compose(engine, 'examples/recreated-without-loss.yml');
    await blog.run('--project-name', 'blog', 'up', '--detach');
    await served('blog.localhost');
    using load = new Load({ port: 80, host: 'blog.localhost', app: 'app' });
    await load.answers(50);
    await blog.run('--project-name', 'blog', 'up', '--detach', '--force-recreate', '--timeout', '2');
    await until('the next container to answer', () => load.by.size === 2);
    await load.answers(50);
    assert.deepEqual((await load.end()).failures, []);
  });

  test('with the overlay, the engine is reached through a proxy that allows only reading', async () => {
    const overlaid = new Compose(engine, 'docker-compose.yml', 'docker-compose.socket-proxy.yml', 'examples/gitops.yml');
    await overlaid.run('up', '--detach', '--timeout', '5');
    const controller = await engine.docker.getContainer(await main.idOf('controller')).inspect();
    assert.ok(controller.Mounts.every(({ Source }) => Source !== engine.socket));
    await new Compose(engine, 'examples/replicas.yml').run('--project-name', 'shop', 'up', '--detach', '--scale', 'web=3');
    const seen = new Set<string>();
    await until('the third replica to answer', async () => seen.add((await at('shop.localhost')).text).size >= 3);
    const asked = [
      ['GET', '/version'],
      ['GET', '/containers/json'],
      ['POST', '/containers/create'],
      ['DELETE', `/containers/${controller.Id}`],
      ['GET', '/images/json'],
      ['GET', '/v1.41/containers/../images/json'],
      ['GET', `/containers/${controller.Id}/logs?stdout=1`],
    ];
    const script = `const http = require('node:http');
      const ask = ([method, path]) => new Promise((done) =>
        http.request({ host: 'socket-proxy', port: 2375, method, path }, (r) => done(r.resume().statusCode)).end());
      Promise.all(${JSON.stringify(asked)}.map(ask)).then((all) => console.log(all.join(' ')));`;
    assert.equal(await inside('controller', 'node', '-e', script), '200 200 403 403 403 403 403');
    // The GitOps overlay: a file in addition to labels.
    assert.equal((await served('status.localhost')).text, 'All is well.');
  });

  test('both services pass their health checks, and stop in time', async () => {
    const services = ['dataplane', 'controller'];
    const inspect = async (service: string) => engine.docker.getContainer(await main.idOf(service)).inspect();
    for (const service of services)
      await until(`${service} to be healthy`, async () => (await inspect(service)).State.Health?.Status === 'healthy');
    await main.run('stop');
    for (const service of services) assert.equal((await inspect(service)).State.ExitCode, 0, service);
    await main.run('rm', '--force');
  });

  upgradesInContainers(() => engine);

  /** The output of a command in a running service. */
  async function inside(service: string, ...command: string[]): Promise<string> {
    const container = engine.docker.getContainer(await main.idOf(service));
    const exec = await container.exec({ Cmd: command, AttachStdout: true, AttachStderr: true, Tty: true });
    return (await textOf(await exec.start({ Tty: true }))).trim();
  }
});

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const piece of stream) text += String(piece);
  return text;
}
