import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Folder, TOKEN } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';
import { expressionsOf, GRAFANA, metricsIn, namesIn, readDashboard, withVariables } from './files.ts';
import { type Alert, Prometheus } from './prometheus.ts';

/** Events that don't happen here: their panels are empty. */
const QUIET = /sluice_certificate_orders_total|sluice_connections_refused_total|sluice_worker_restarts_total|changes\(/;

/** What promtool suggests about metrics that prom-client and other exporters of its kind have had for years, under these names. */
const KNOWN_COMPLAINTS = /^nodejs_active_(?:handles|requests|resources)_total non-counter metrics should not have "_total" suffix$/;

const VIEW_TOKEN = 'a-view-token-for-tests';

/**
 * A warning about an import, a site that answers, one with a live and a dead target, one whose target is dead, one that fails, and
 * certificates.
 */
class Scene {
  readonly folder = new Folder();
  readonly pair: Pair;
  readonly probe: number;
  readonly adminPort: number;
  private readonly upstream: Upstream;

  private constructor(pair: Pair, folder: Folder, upstream: Upstream, ports: { probe: number; admin: number }) {
    this.pair = pair;
    this.folder = folder;
    this.upstream = upstream;
    this.probe = ports.probe;
    this.adminPort = ports.admin;
  }

  static async start(): Promise<Scene> {
    const folder = new Folder();
    const upstream = await Upstream.start('app', (request, response) => {
      response.statusCode = request.url === '/broken' ? 500 : 200;
      response.end('hello');
    });
    const [probe, https, dead, admin] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const sites = [
      'import nothing-*',
      'fixed.test {\n  tls off\n  respond "fixed"\n}',
      `half.test {\n  tls off\n  reverse_proxy ${upstream.address} 127.0.0.1:${dead}\n}`,
      `dead.test {\n  tls off\n  reverse_proxy 127.0.0.1:${dead}\n}`,
      `safe.test {\n  tls internal\n  reverse_proxy ${upstream.address}\n}`,
    ];
    const flags = ['--probe-listen', `127.0.0.1:${probe}`, '--https-port', `${https}`, '--admin-listen', `127.0.0.1:${admin}`];
    const pair = await Pair.start(folder, `${sites.join('\n')}\n`, {
      flags,
      env: { SLUICE_ADMIN_TOKEN: TOKEN, SLUICE_VIEW_TOKEN: VIEW_TOKEN },
    });
    return new Scene(pair, folder, upstream, { probe, admin });
  }

  /** Some traffic of every kind. */
  async visitAll(): Promise<void> {
    for (const host of ['fixed.test', 'half.test', 'dead.test', 'none.test']) await this.pair.visit(host);
    await this.pair.visit('half.test', '/broken');
  }

  dataplaneMetrics = async (): Promise<string> => (await ask({ port: this.probe }, '/metrics')).text;
  controllerMetrics = async (): Promise<string> => (await this.pair.controller('/metrics')).text;

  /** The documented configuration with the ports of this scene, scraping often, and the Admin API with the view token beside it. */
  config(): string {
    const admin = [
      '  - job_name: with-token',
      '    scrape_interval: 5s',
      `    static_configs: [{ targets: ["127.0.0.1:${this.adminPort}"] }]`,
      `    authorization: { credentials: ${VIEW_TOKEN} }`,
    ];
    const config = readFileSync(join(GRAFANA, 'prometheus.yml'), 'utf8')
      .replaceAll('15s', '500ms')
      .replaceAll('127.0.0.1:6192', `127.0.0.1:${this.probe}`)
      .replace('127.0.0.1:6191', `127.0.0.1:${this.pair.controllerPort}`);
    return `${config}\n${admin.join('\n')}\n`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pair[Symbol.asyncDispose]();
    await this.upstream[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}

test('a real Prometheus scrapes both processes, and every query of the rules and the dashboard finds what it asks for', {
  skip: missing('prometheus') ?? missing('promtool'),
}, async (t) => {
  await using scene = await Scene.start();
  await scene.visitAll();
  copyFileSync(join(GRAFANA, 'alerts.yml'), scene.folder.file('alerts.yml'));
  await using prometheus = await Prometheus.start(scene.folder, scene.config());
  const dashboard = expressionsOf(readDashboard());
  const rules = [...readFileSync(join(GRAFANA, 'alerts.yml'), 'utf8').matchAll(/ expr: (?:\|\n)?([\s\S]*?)\n {8}(?:for|labels):/g)];

  await t.test('every target is up', async () => {
    const targets = await prometheus.targets();
    assert.deepEqual(targets.map(({ scrapePool, health, lastError }) => [scrapePool, health, lastError]).sort(), [
      ['sluice', 'up', ''],
      ['sluice-controller', 'up', ''],
      ['with-token', 'up', ''],
    ]);
  });

  await t.test('promtool has nothing to complain about in the metrics of either process', async () => {
    for (const input of [await scene.dataplaneMetrics(), await scene.controllerMetrics()]) {
      const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' });
      const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !KNOWN_COMPLAINTS.test(line));
      assert.deepEqual(complaints, []);
    }
  });

  await t.test('rules and dashboard name only metrics that exist', async () => {
    const exposed = namesIn(`${await scene.dataplaneMetrics()}\n${await scene.controllerMetrics()}`).add('up');
    assert.ok(rules.length > 20);
    for (const expr of [...rules.map(([, expr = '']) => expr), ...dashboard.map(({ expr }) => expr)]) {
      const named = metricsIn(expr);
      assert.ok(named.length > 0, expr);
      for (const name of named) assert.ok(exposed.has(name), `${name} in ${expr}`);
    }
  });

  await t.test('every query of the dashboard has a result, except for events that did not happen', async () => {
    for (const { title, expr } of dashboard) {
      const query = withVariables(expr);
      if (QUIET.test(query)) await prometheus.query(query);
      // Rates need two scrapes with traffic between them, and a target is ejected after some failures.
      else
        await until(`${title}: ${query}`, async () => {
          const result = await prometheus.query(query);
          if (result.length === 0) await scene.visitAll();
          return result.length > 0;
        });
    }
  });

  await t.test('every rule is evaluated without an error, and a host without a target raises an alert that names it', async () => {
    const found = await until('the alert', async () => {
      await scene.visitAll();
      return (await prometheus.alerts()).find(({ labels }) => labels.alertname === 'SluiceNoHealthyTarget');
    });
    const { labels, annotations } = found as Alert;
    assert.deepEqual([labels.domain, labels.severity], ['dead.test', 'critical']);
    assert.equal(annotations.summary, 'dead.test has no target in rotation');
    const evaluated = await until('every rule to be evaluated', async () => {
      const all = await prometheus.rules();
      return all.every(({ health }) => health !== 'unknown') ? all : null;
    });
    assert.deepEqual(
      evaluated.filter(({ health }) => health !== 'ok'),
      [],
    );
    assert.equal(evaluated.length, rules.length);
  });

  await t.test('Prometheus warns about nothing', () => assert.equal(prometheus.program.output, ''));
});
