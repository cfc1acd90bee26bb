import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Alert } from '../../shared/wire/dashboard.ts';
import type { ControllerStatus } from '../../shared/wire/status.ts';
import { alertsOf, type Situation } from './alerts.ts';
import type { PoolPlace } from './named-targets.ts';
import { NO_WARNINGS } from './testing/no-warnings.ts';

const SINCE = '2026-01-02T03:04:05.000Z';

const controller = (more: Partial<ControllerStatus> = {}): ControllerStatus => ({
  ...{ id: 'edge', connected: true, reloadable: true, epoch: 1, revision: 1, sources: ['file'], listed: ['file'], last_applied: SINCE },
  ...more,
});

const WELL: Situation = {
  now: Date.parse(SINCE) + 60_000,
  status: {
    uptime_secs: 3_600,
    ...{ ready: true, reason: null, version: '1.0.0', installed_version: '1.0.0', problems: [], last_reload: null },
    workers: { configured: 2, serving: 2, restarts: 0 },
    controllers: [controller()],
  },
  warnings: NO_WARNINGS,
  advice: [],
  pools: [],
  failing: [],
  certificates: [],
  overridden: [],
  refused: [],
  history: null,
};

const withStatus = (status: Partial<Situation['status']>): Situation => ({ ...WELL, status: { ...WELL.status, ...status } });

/** The code and severity of every alert that is not a controller's problem. */
const seen = new Set<string>();

/** The only alert of a situation. */
function only(situation: Situation): Alert {
  const [alert, ...others] = [...alertsOf(situation)];
  assert.ok(alert !== undefined && others.length === 0, JSON.stringify([alert, ...others], null, 2));
  if (situation.status.problems.length === 0) seen.add(`${alert.code} ${alert.severity}`);
  // Every alert says in a sentence what to do.
  assert.match(alert.action, /^[A-Z].+\.$/);
  assert.notEqual(alert.subject, '');
  return alert;
}

const problem = (code: string, more: object = {}) => ({
  ...{ source: 'docker', origin: 'container shop-1 (3f2a9c0d1e2f)', domain: 'shop.test', message: 'it is wrong', since: SINCE },
  code,
  ...more,
});

describe('alerts', () => {
  it('are none if nothing is wrong', () => {
    assert.deepEqual([...alertsOf(WELL)], []);
  });

  it('report a data plane that is not ready, with what it lacks', () => {
    const waiting = { ready: false, reason: 'no table yet' };
    const lonely = only(withStatus({ ...waiting, controllers: [] }));
    assert.deepEqual([lonely.severity, lonely.code, lonely.message], ['error', 'not_ready', 'not ready: no table yet']);
    assert.match(lonely.action, /Start a controller/);
    assert.match(only(withStatus(waiting)).action, /Wait until the controller has listed/);
    const actionFor = (source: string) =>
      [...alertsOf(withStatus({ ...waiting, problems: [problem('source_failed', { source })] }))][0]?.action;
    assert.equal(actionFor('file'), 'Correct the errors of the config file listed here.');
    assert.equal(actionFor('docker'), 'Correct the cause that is listed here.');
  });

  it('report missing workers as an error only if none serves', () => {
    const some = only(withStatus({ workers: { configured: 4, serving: 3, restarts: 1 } }));
    assert.deepEqual([some.severity, some.code, some.message], ['warning', 'workers_missing', '1 of 4 workers are not serving']);
    const none = only(withStatus({ workers: { configured: 4, serving: 0, restarts: 9 } }));
    assert.deepEqual([none.severity, none.code], ['error', 'no_worker']);
  });

  it('report hosts whose requests fail, as an error if most of them do, unless their pool is reported as down', () => {
    const failing = (failed: number): Situation => ({ ...WELL, failing: [{ domain: 'a.test', pattern: 'a.test', requests: 20, failed }] });
    const some = only(failing(7));
    assert.deepEqual([some.severity, some.code, some.domain], ['warning', 'server_errors', 'a.test']);
    assert.equal(some.message, '7 of 20 requests to a.test were answered with 5xx in the last five minutes');
    assert.equal(only(failing(11)).severity, 'error');
    const down = { domain: 'a.test', path: null, targets: 1, out: [{ address: 'a:1', reason: 'refused' }] };
    assert.equal(only({ ...failing(20), pools: [down] }).code, 'pool_down');
    assert.deepEqual(
      [...alertsOf({ ...failing(20), pools: [{ ...down, targets: 2 }] })].map(({ code }) => code),
      ['pool_degraded', 'server_errors'],
    );
  });

  it('report a host whose requests fail also if a block of it, or its mirror, has no target', () => {
    const failing = [{ domain: 'a.test', pattern: 'a.test', requests: 20, failed: 20 }];
    const pool = { domain: 'a.test', path: null, targets: 1, out: [{ address: 'a:1', reason: 'refused' }] };
    const codes = (place: object): string[] => [...alertsOf({ ...WELL, failing, pools: [{ ...pool, ...place }] })].map(({ code }) => code);
    assert.deepEqual(codes({ path: '/old/*' }), ['pool_down', 'server_errors']);
    assert.deepEqual(codes({ part: 'block 2' }), ['pool_down', 'server_errors']);
    assert.deepEqual(codes({ part: 'mirror' }), ['pool_degraded', 'server_errors']);
  });

  it('report few failing hosts of a wildcard each, the others together, and none if the wildcard has no target', () => {
    const failing = ['a.test', ...Array.from({ length: 300 }, (_, at) => `h${at}.x.test`)].map((domain) => ({
      ...{ domain, pattern: domain.replace(/^h\d+/, '*'), requests: 10, failed: 6 },
    }));
    const alerts = [...alertsOf({ ...WELL, failing })];
    assert.deepEqual(
      alerts.map(({ domain }) => domain),
      ['a.test', 'h0.x.test', 'h1.x.test', 'h2.x.test', 'h3.x.test', 'h4.x.test', '*.x.test'],
    );
    const last = alerts.at(-1);
    assert.equal(last?.message, '1770 of 2950 requests to 295 more hosts of *.x.test were answered with 5xx in the last five minutes');
    assert.equal(last.severity, 'error');
    const down = { domain: '*.x.test', path: null, targets: 1, out: [{ address: 'a:1', reason: 'refused' }] };
    assert.deepEqual(
      [...alertsOf({ ...WELL, failing, pools: [down] })].map(({ code, domain }) => `${code} ${domain}`),
      ['pool_down *.x.test', 'server_errors a.test'],
    );
  });

  it('report the worst hosts of a wildcard each, and the others as an error if one of them answers most requests with 5xx', () => {
    const site = (domain: string, failed: number, requests = 100) => ({ domain, pattern: '*.x.test', requests, failed });
    const mild = [1, 2, 3, 4, 5].map((nth) => site(`mild${nth}.x.test`, 6));
    const bad = [1, 2, 3, 4, 5, 6].map((nth) => site(`bad${nth}.x.test`, 50 + nth));
    const [worst, ...more] = [...alertsOf({ ...WELL, failing: [...mild, ...bad] })];
    assert.equal(worst?.domain, 'bad6.x.test');
    assert.deepEqual([more.at(-1)?.domain, more.at(-1)?.severity], ['*.x.test', 'error']);
    assert.match(more.at(-1)?.message ?? '', /^81 of 600 requests to 6 more hosts/);
  });

  it('report a controller that is away, since when, and that its routes stay', () => {
    const alert = only(withStatus({ controllers: [controller({ connected: false, away_since: SINCE })] }));
    assert.deepEqual([alert.severity, alert.code, alert.subject, alert.since], ['warning', 'controller_away', 'controller edge', SINCE]);
    assert.match(alert.message, /^controller edge is disconnected; its routes stay as of 2026/);
    assert.equal(only(withStatus({ controllers: [controller({ connected: false })] })).since, null);
  });

  it('give a controller five seconds to connect, again or after the start', () => {
    const left = (awayMs: number): Situation => ({
      ...withStatus({ controllers: [controller({ connected: false, away_since: SINCE })] }),
      now: Date.parse(SINCE) + awayMs,
    });
    assert.deepEqual([...alertsOf(left(4_999))], []);
    assert.equal(only(left(5_000)).code, 'controller_away');
    const started = (uptime_secs: number) => withStatus({ uptime_secs, controllers: [controller({ connected: false })] });
    assert.deepEqual([...alertsOf(started(4))], []);
    assert.equal(only(started(5)).code, 'controller_away');
  });

  it('report each problem of a controller with its place and time', () => {
    const alert = only(withStatus({ problems: [problem('bad_label')] }));
    assert.deepEqual([alert.severity, alert.code, alert.domain, alert.since], ['error', 'bad_label', 'shop.test', SINCE]);
    assert.equal(alert.subject, 'container shop-1 (3f2a9c0d1e2f)');
    assert.equal(alert.message, 'container shop-1 (3f2a9c0d1e2f): it is wrong');
    assert.match(alert.action, /recreate the container/);
  });

  it('have an action for every code of a problem, and for codes of newer controllers', () => {
    const codes = ['bad_label', 'bad_route', 'no_address', 'route_too_large', 'domain_taken', 'labels_differ', 'unknown_label'];
    const actions = [...codes, 'config_warning', 'removal_held', 'source_failed', 'from_the_future'].map(
      (code) => only(withStatus({ problems: [problem(code)] })).action,
    );
    assert.equal(new Set(actions).size, actions.length);
  });

  it('give no advice about networks for a container that names no port: its message says what to change', () => {
    const message = 'it exposes no TCP port; name the port that the app listens on with the label sluice.port=PORT';
    assert.doesNotMatch(only(withStatus({ problems: [problem('no_address', { message })] })).action, /network/);
  });

  it('give advice that fits objects of a cluster', () => {
    const codes = ['bad_annotation', 'bad_host', 'bad_path', 'bad_route', 'no_authentication', 'no_backend', 'no_port', 'no_certificate'];
    const others = ['path_taken', 'unknown_label', 'no_address', 'unknown_kind', 'certificate_not_presented'];
    const actions = [...codes, ...others].map(
      (code) => only(withStatus({ problems: [problem(code, { source: 'kubernetes', origin: 'ingress shop/web' })] })).action,
    );
    assert.equal(new Set(actions).size, actions.length);
    assert.doesNotMatch(actions.join(), /container|label /);
  });

  it('report an error of the config file with whether an earlier version is served', () => {
    const error = problem('source_failed', { source: 'file', origin: 'Sluicefile:6', domain: null, message: 'Sluicefile:6:3: no' });
    const alert = only(withStatus({ problems: [error] }));
    assert.deepEqual([alert.severity, alert.message], ['error', 'Sluicefile:6:3: no']);
    assert.match(alert.action, /the last good version is served/);
    const first = only(withStatus({ problems: [error], controllers: [controller({ listed: [] })] }));
    assert.match(first.action, /until then nothing of it is served/);
  });

  it('report a failed reload unless its errors are problems already', () => {
    const failed = { at: SINCE, ok: false, errors: ['Sluicefile:1:1: no', 'Sluicefile:2:1: no'] };
    const alert = only(withStatus({ last_reload: failed }));
    assert.deepEqual([alert.code, alert.since], ['reload_failed', SINCE]);
    assert.equal(alert.message, 'the last reload failed: Sluicefile:1:1: no, and 1 more errors');
    assert.equal(only(withStatus({ last_reload: failed, problems: [problem('source_failed')] })).code, 'source_failed');
    assert.deepEqual([...alertsOf(withStatus({ last_reload: { ...failed, ok: true } }))], []);
  });

  it('report a pool without any target in rotation as an error, with why', () => {
    const failure = { code: 'connect', reason: 'connection refused', at: SINCE, count: 7 };
    const out = [{ address: '10.0.0.1:80', reason: 'GET /up answered 500', failure }];
    const alert = only({ ...WELL, pools: [{ domain: 'a.test', path: '/api/*', targets: 1, out }] });
    assert.deepEqual([alert.severity, alert.code, alert.domain, alert.subject], ['error', 'pool_down', 'a.test', 'a.test/api/*']);
    assert.equal(
      alert.message,
      `a.test/api/* has no target in rotation: 10.0.0.1:80: GET /up answered 500 (last failure: connection refused, ${SINCE})`,
    );
    const gone = only({ ...WELL, pools: [{ domain: 'a.test', path: null, targets: 0, out: [] }] });
    assert.deepEqual([gone.code, gone.message], ['pool_down', 'a.test has no target left']);
  });

  it('name the pool without a target, with the URL that it explains, and are milder about mirrors', () => {
    const about = (place: Partial<PoolPlace>): Alert =>
      only({ ...WELL, pools: [{ domain: 'a.test', path: null, ...place, targets: 1, out: [{ address: '10.0.0.1:80', reason: 'no' }] }] });
    assert.match(about({ path: '/api/*' }).action, / sluice explain a\.test\/api\/ shows /);
    assert.match(about({}).action, / sluice explain a\.test shows /);
    const [block, mirror] = [about({ part: 'block 2' }), about({ part: 'mirror' })];
    assert.equal(block.message, 'block 2 of a.test has no target in rotation: 10.0.0.1:80: no');
    assert.equal(block.action, 'Start the service or correct its address.');
    assert.deepEqual([mirror.severity, mirror.subject], ['warning', 'mirror of a.test']);
    const others: readonly PoolPlace[] = [
      { path: '/api/*', part: 'mirror' },
      { path: null, part: 'mirror 2 of block 3' },
    ];
    assert.deepEqual(
      others.map((place) => about(place)).map(({ severity, subject }) => [severity, subject]),
      [
        ['warning', 'mirror of a.test/api/*'],
        ['warning', 'mirror 2 of block 3 of a.test'],
      ],
    );
  });

  it('quote wildcards in commands, which a shell would replace by the names of files', () => {
    const out = [{ address: '10.0.0.1:80', reason: 'no' }];
    const lost = only({ ...WELL, pools: [{ domain: '*', path: '/api/*', targets: 1, out }] });
    assert.match(lost.action, / explain '\*\/api\/' shows /);
    const failing = [{ domain: '*.a.test', pattern: '*.a.test', requests: 20, failed: 20 }];
    assert.match(only({ ...WELL, failing }).action, / explain '\*\.a\.test' shows /);
    const certificates = [{ kind: 'certificate_missing', domain: '*.a.test', message: 'no' }] as const;
    assert.match(only({ ...WELL, certificates }).action, / --retry '\*\.a\.test'; /);
  });

  it('quote paths in commands, so that a shell carries out nothing of them', () => {
    const actionFor = (path: string): string =>
      only({ ...WELL, pools: [{ domain: 'a.test', path, targets: 1, out: [{ address: '10.0.0.1:80', reason: 'no' }] }] }).action;
    assert.match(actionFor('/api/*'), / explain a\.test\/api\/ shows /);
    assert.match(actionFor('/x;id'), / explain 'a\.test\/x;id' shows /);
    assert.match(actionFor('/$(id)/*'), / explain 'a\.test\/\$\(id\)\/' shows /);
    assert.match(actionFor("/';id;'"), / explain 'a\.test\/'\\'';id;'\\''' shows /);
  });

  it('report a pool with some targets out of rotation as a warning, naming a few of them', () => {
    const out = Array.from({ length: 5 }, (_, n) => ({ address: `10.0.0.${n}:80`, reason: 'timeout' }));
    const alert = only({ ...WELL, pools: [{ domain: 'a.test', path: null, targets: 6, out }] });
    assert.deepEqual([alert.severity, alert.code], ['warning', 'pool_degraded']);
    assert.equal(
      alert.message,
      '5 of 6 targets of a.test are out of rotation: 10.0.0.0:80: timeout; 10.0.0.1:80: timeout; 10.0.0.2:80: timeout; and 2 more',
    );
  });

  it('report each kind of trouble with certificates', () => {
    const kinds = [
      ['certificate_missing', 'error'],
      ['certificate_expired', 'error'],
      ['certificate_expiring', 'warning'],
      ['certificate_unusable', 'warning'],
      ['certificate_refused', 'warning'],
      ['certificate_impossible', 'warning'],
      ['certificates_failed', 'error'],
    ] as const;
    for (const [kind, severity] of kinds) {
      const alert = only({ ...WELL, certificates: [{ kind, domain: 'a.test', message: 'because' }] });
      assert.deepEqual([alert.code, alert.severity, alert.domain, alert.message], [kind, severity, 'a.test', 'because']);
      assert.equal(only({ ...WELL, certificates: [{ kind, domain: null, message: 'because' }] }).subject, 'certificates');
    }
  });

  it('name the command that retries the order of a missing certificate', () => {
    const { action } = only({ ...WELL, certificates: [{ kind: 'certificate_missing', domain: 'a.test', message: 'because' }] });
    assert.match(action, /retry at once with sluice certificates --retry a\.test;/);
  });

  it('report the warnings of each part, but not twice what keeps the data plane from being ready', () => {
    for (const part of [
      'targets_unconfirmed',
      'settings',
      'cache_off',
      'cache_disk',
      'ports_closed',
      'exposed_directory',
      'access_log',
      'traces',
      'token_keys_stale',
      'admin_certificate',
    ] as const) {
      const alert = only({ ...WELL, warnings: { ...WELL.warnings, [part]: ['this is so'] } });
      assert.deepEqual([alert.severity, alert.code, alert.message], ['warning', part, 'this is so']);
    }
    for (const part of ['token_keys_missing', 'file_root', 'table_unsaved'] as const) {
      const missing = only({ ...WELL, warnings: { ...WELL.warnings, [part]: ['it is missing'] } });
      assert.deepEqual([missing.severity, missing.code], ['error', part]);
    }
    const warnings = { ...WELL.warnings, targets_unconfirmed: ['2 of 2 wait'] };
    assert.equal(only({ ...withStatus({ ready: false, reason: '2 of 2 wait' }), warnings }).code, 'not_ready');
  });

  it('report routes that are not served as their controller sent them last', () => {
    const refused = { controller: 'edge', domain: 'a.test', reason: 'upstream: no port', since: Date.parse(SINCE) };
    const rejected = only({ ...WELL, refused: [{ ...refused, result: 'rejected' }] });
    assert.deepEqual([rejected.severity, rejected.code, rejected.domain, rejected.since], ['error', 'route_rejected', 'a.test', SINCE]);
    assert.equal(rejected.message, 'the newest version of a.test by controller edge is rejected: upstream: no port');
    const conflicted = only({ ...WELL, refused: [{ ...refused, result: 'conflicted', reason: 'it belongs to controller "other"' }] });
    assert.deepEqual([conflicted.severity, conflicted.code], ['warning', 'route_conflicted']);
  });

  it('report an unavailable history', () => {
    const alert = only({ ...WELL, history: 'disk full' });
    assert.deepEqual(
      [alert.severity, alert.code, alert.message],
      ['warning', 'history_unavailable', 'the history of visits is unavailable: disk full'],
    );
  });

  it('advise about overridden routes, a pending upgrade and the environment', () => {
    const override = only({ ...WELL, overridden: [{ domain: 'a.test', controller: 'edge', since: Date.parse(SINCE) }] });
    assert.deepEqual([override.severity, override.code, override.since], ['advice', 'route_overridden', SINCE]);
    assert.match(override.action, /DELETE \/routes\/a\.test/);
    const upgrade = only(withStatus({ installed_version: '1.1.0' }));
    assert.deepEqual([upgrade.severity, upgrade.message], ['advice', 'version 1.0.0 is running, 1.1.0 is installed']);
    assert.match(upgrade.action, /sluice upgrade/);
    assert.deepEqual(only({ ...WELL, advice: ['set this'] }).severity, 'advice');
  });

  it('shorten texts of any length, since an overview has hundreds of them', () => {
    const alert = only(withStatus({ problems: [problem('bad_label', { message: 'x'.repeat(8_000) })] }));
    assert.ok(alert.message.length <= 601 && alert.message.endsWith('…'));
  });

  it('are all in the reference, with their severity', () => {
    const page = readFileSync(new URL('../../docs/reference/admin-api.md', import.meta.url), 'utf8');
    const documented = [...page.matchAll(/^\| `(\w+)` \| (error|warning|advice) \|/gm)].map(([, code, severity]) => `${code} ${severity}`);
    // The alert that stands for those beyond a bound belongs to the overview.
    assert.deepEqual(documented.sort(), [...seen, 'alerts_omitted advice'].sort());
  });
});
