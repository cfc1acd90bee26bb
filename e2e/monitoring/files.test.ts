import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { missing } from '../components.ts';
import { Folder } from '../testing/dataplane.ts';
import { REPOSITORY } from '../testing/process.ts';
import { expressionsOf, GRAFANA, readDashboard } from './files.ts';

/** Units that the dashboard uses, by their identifiers in Grafana. */
const UNITS = new Set(['none', 'short', 'reqps', 'Bps', 'bytes', 's', 'percentunit']);
const COLUMNS = 24;

const rules = readFileSync(join(GRAFANA, 'alerts.yml'), 'utf8');
const alerts = [...rules.matchAll(/- alert: (\w+)\n([\s\S]*?)(?=\n {6}- alert|\n {2}- name|$(?![\s\S]))/g)].map(
  ([, name = '', body = '']) => ({ name, body }),
);
const text = (path: string) => readFileSync(join(REPOSITORY, path), 'utf8');
const promtool = (...args: string[]) => execFileSync('promtool', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

test('the alert rules are valid, and fire in their tests and not for the neighbouring series', { skip: missing('promtool') }, () => {
  assert.match(promtool('check', 'rules', join(GRAFANA, 'alerts.yml')), new RegExp(`${alerts.length} rules found`));
  promtool('test', 'rules', join(GRAFANA, 'alerts-tests.yml'));
});

test('every alert has a test, a severity, and a summary and a description of its own', () => {
  assert.ok(alerts.length > 20);
  const tested = [...text('deploy/grafana/alerts-tests.yml').matchAll(/alertname="(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(alerts.map(({ name }) => name).sort(), tested.sort());
  for (const { name, body } of alerts) {
    assert.match(body, /\n {10}severity: (?:critical|warning)\n/, name);
    assert.match(body, /\n {10}summary: "\S/, name);
    assert.match(body, /\n {10}description: >-\n {12}\S/, name);
  }
});

test('docs/observability.md lists exactly the alert rules, with their severities', () => {
  const listed = [...text('docs/observability.md').matchAll(/^\| `(Sluice\w+)` \| (\w+) \|/gm)].map(
    ([, name, severity]) => `${name} ${severity}`,
  );
  assert.deepEqual(
    listed,
    alerts.map(({ name, body }) => `${name} ${/severity: (\w+)/.exec(body)?.[1]}`),
  );
});

test('in a cluster, the series have the job that the alert rules name', () => {
  const labelled = (path: string) => assert.match(text(path), /app\.kubernetes\.io\/name: sluice\b/, path);
  const monitored = (path: string) => assert.match(text(path), /\n {2}jobLabel: app\.kubernetes\.io\/name\n/, path);
  const component = 'deploy/kubernetes/gateway/components/service-monitor';
  labelled('deploy/helm/sluice/templates/_helpers.tpl');
  monitored('deploy/helm/sluice/templates/service-monitor.yaml');
  labelled(`${component}/metrics-service.yaml`);
  monitored(`${component}/service-monitor.yaml`);
  const jobs = new Set([...rules.matchAll(/job="([^"]+)"/g)].map(([, job]) => job));
  assert.deepEqual([...jobs].sort(), ['sluice', 'sluice-controller']);
});

test('the scrape configurations are valid, and docs/observability.md shows the one for a single machine', {
  skip: missing('promtool'),
}, () => {
  for (const path of ['deploy/grafana/prometheus.yml', 'deploy/compose/monitoring/prometheus.yml']) {
    using folder = new Folder();
    copyFileSync(join(GRAFANA, 'alerts.yml'), folder.file('alerts.yml'));
    copyFileSync(join(REPOSITORY, path), folder.file('prometheus.yml'));
    promtool('check', 'config', folder.file('prometheus.yml'));
  }
  const shown = text('deploy/grafana/prometheus.yml').replace(/^#.*\n\n/, '');
  assert.ok(text('docs/observability.md').includes(`\`\`\`yaml\n${shown}\`\`\``));
});

test('the panels of the dashboard have distinct ids, a description and a known unit, and do not overlap', () => {
  const { panels } = readDashboard();
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const taken = new Map<string, string>();
  for (const {
    title,
    type,
    description,
    fieldConfig,
    targets,
    gridPos: { x, y, w, h },
  } of panels) {
    assert.ok(x + w <= COLUMNS, title);
    for (let column = x; column < x + w; column++)
      for (let line = y; line < y + h; line++) {
        assert.equal(taken.get(`${column} ${line}`), undefined, `${title} overlaps`);
        taken.set(`${column} ${line}`, title);
      }
    if (type === 'row') continue;
    assert.ok(description, title);
    assert.ok(targets?.length, title);
    assert.ok(UNITS.has(fieldConfig?.defaults.unit ?? ''), `${title}: ${fieldConfig?.defaults.unit}`);
  }
});

test('every query of the dashboard uses the selected data source and only variables that exist', () => {
  const dashboard = readDashboard();
  const { list } = dashboard.templating;
  assert.deepEqual(list.find(({ type }) => type === 'datasource')?.name, 'datasource');
  const known = new Set([...list.map(({ name }) => name), '__rate_interval']);
  for (const { title, datasource, targets = [] } of dashboard.panels) {
    const refs = targets.map(({ refId }) => refId);
    assert.equal(new Set(refs).size, refs.length, title);
    for (const source of targets.length === 0 ? [] : [datasource, ...targets.map((target) => target.datasource)])
      assert.deepEqual(source, { type: 'prometheus', uid: '${'.concat('datasource}') }, title);
  }
  for (const { title, expr } of expressionsOf(dashboard))
    for (const [, variable = ''] of expr.matchAll(/\$(\w+)/g)) assert.ok(known.has(variable), `${title}: $${variable}`);
});

test('the monitoring overlay is a valid compose file', { skip: missing('docker-compose') }, () => {
  const files = ['docker-compose.yml', 'docker-compose.monitoring.yml'].flatMap((name) => ['-f', join(REPOSITORY, 'deploy/compose', name)]);
  const env = { PATH: process.env.PATH, DOCKER_GID: '1', GRAFANA_PASSWORD: 'secret' };
  const config = execFileSync('docker-compose', [...files, 'config'], { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] });
  assert.match(config, /0\.0\.0\.0:6192/);
  assert.match(config, /0\.0\.0\.0:6191/);
});
