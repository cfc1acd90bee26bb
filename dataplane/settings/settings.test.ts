import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { describe, it, test } from 'node:test';
import { DEFAULT_ADMIN_SOCKET } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import { FILE_GLOBALS_VARIABLE } from '../../shared/runtime/process/supervised.ts';
import { type Globals, parseGlobals } from '../../shared/settings.ts';
import { defaultMaxConnections } from './default-connections.ts';
import { maxSocketsFor, parseOpenFilesLimit } from './file-descriptors.ts';
import { DATAPLANE_FLAGS } from './flags.ts';
import { durationText } from './setting-statuses.ts';
import {
  type DataplaneSettings,
  dataplaneHelp,
  effectiveSettings,
  movesListeners,
  readSettings,
  requireTrustedProxies,
  trafficSettings,
} from './settings.ts';

const globals = (input: object): Globals => {
  const parsed = parseGlobals(input);
  assert.ok(parsed.ok);
  return parsed.value;
};
const usage = (argv: string[], env: Record<string, string> = {}): string => {
  try {
    readSettings(argv, env);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    assert.ok(!error.message.includes('\n'), 'one line');
    return error.message;
  }
  throw new assert.AssertionError({ message: `accepted ${argv.join(' ')}` });
};
const status = (settings: DataplaneSettings, name: string) => effectiveSettings(settings, {}).statuses.find((one) => one.name === name);

describe('readSettings', () => {
  it('has the documented defaults', () => {
    const {
      origins,
      given,
      parentGlobals: handed,
      takeover,
      restarted,
      help,
      workers,
      maxConnections,
      maxConnectionsPerAddress,
      ...rest
    } = readSettings([], {});
    assert.deepEqual(rest, {
      httpPort: 80,
      httpsPort: 443,
      otherHttpPorts: [],
      otherHttpsPorts: [],
      closedPorts: [],
      bind: null,
      adminListen: '127.0.0.1:6190',
      adminAllowRemote: false,
      adminTlsCert: null,
      adminTlsKey: null,
      adminSocket: null,
      probeListen: null,
      publicHttpsPort: 443,
      certDir: '/etc/sluice/certs',
      stateDir: '/var/lib/sluice',
      metrics: true,
      analyticsRetention: 34_560_000_000,
      analyticsMaxSize: 1_073_741_824,
      trustedProxies: [],
      proxyProtocol: false,
      proxyProtocolPorts: [],
      logLevel: 'info',
      accessLog: null,
      cacheSize: 0,
      cacheDiskSize: 0,
      otlpEndpoint: null,
      otlpHeaders: [],
      otlpServiceName: 'sluice',
      traceSampling: 1,
      traceTrustClients: false,
      drainTimeoutMs: 30_000,
      shutdownDelayMs: 0,
      email: null,
      noAcme: false,
      acmeDirectory: 'https://acme-v02.api.letsencrypt.org/directory',
      acmeRoot: null,
      acmeBinding: null,
      dnsHook: null,
      dnsServer: null,
      dnsKeyPath: null,
      dnsResolver: null,
      localCerts: false,
    });
    assert.deepEqual(
      [maxConnections, maxConnectionsPerAddress],
      [
        defaultMaxConnections(maxSocketsFor(workers), workers),
        Math.min(maxConnections, 4_096, Math.max(Math.min(256, Math.ceil(maxConnections / 2)), Math.ceil(maxConnections / 4))),
      ],
    );
    assert.equal(workers, process.platform === 'linux' ? availableParallelism() : workers);
    assert.ok(Object.values(origins).every((origin) => origin === 'default'));
    assert.deepEqual([given.size, handed, takeover, restarted, help], [0, null, false, false, false]);
  });

  it('reads every implemented flag', () => {
    const words =
      '--http-port 8080,8081 --https-port=8443 --https-port 8444,8445 --bind ::1 --workers 3 --admin-listen [::]:7000 --admin-allow-remote --admin-tls-cert /a.pem --admin-tls-key /a.key --admin-socket /run/s.sock ' +
      '--probe-listen 0.0.0.0:9000 --public-https-port 9443 --cert-dir /c --state-dir /s --no-metrics ' +
      '--analytics-retention off --analytics-max-size 5mb ' +
      '--trusted-proxies 10.0.0.0/8,::1 --proxy-protocol --proxy-protocol-ports 8081 --max-connections 900 --max-connections-per-address 90 ' +
      '--log-level debug --access-log /l --cache-size 1gb --cache-disk-size 10gb --otlp-endpoint https://c.test:4318/x/ --otlp-headers X-Key=a%20b,x-more=c=d --otlp-service-name edge --trace-sampling 0.01 --trace-trust-clients --drain-timeout 1m30s --shutdown-delay 10s --takeover --acme-email a@b.test --acme-directory https://ca.test/dir ' +
      '--acme-ca-root /r --acme-eab kid-1:c2VjcmV0 --local-certs ' +
      '--acme-dns-hook /h --acme-dns-server ns.test:5353 --acme-dns-key-file /k --acme-dns-resolver ::1';
    const { origins, given, parentGlobals: handed, takeover, restarted, help, ...rest } = readSettings(words.split(' '), {});
    assert.deepEqual(rest, {
      httpPort: 8080,
      httpsPort: 8443,
      otherHttpPorts: [8081],
      otherHttpsPorts: [8444, 8445],
      closedPorts: [],
      bind: '::1',
      workers: 3,
      adminListen: '[::]:7000',
      adminAllowRemote: true,
      adminTlsCert: '/a.pem',
      adminTlsKey: '/a.key',
      adminSocket: '/run/s.sock',
      probeListen: '0.0.0.0:9000',
      publicHttpsPort: 9443,
      certDir: '/c',
      stateDir: '/s',
      metrics: false,
      analyticsRetention: 'off',
      analyticsMaxSize: 5_242_880,
      trustedProxies: ['10.0.0.0/8', '::1'],
      proxyProtocol: true,
      proxyProtocolPorts: [8081],
      maxConnections: 900,
      maxConnectionsPerAddress: 90,
      logLevel: 'debug',
      accessLog: '/l',
      cacheSize: 1_073_741_824,
      cacheDiskSize: 10_737_418_240,
      otlpEndpoint: 'https://c.test:4318/x/v1/traces',
      otlpHeaders: [
        ['X-Key', 'a b'],
        ['x-more', 'c=d'],
      ],
      otlpServiceName: 'edge',
      traceSampling: 0.01,
      traceTrustClients: true,
      drainTimeoutMs: 90_000,
      shutdownDelayMs: 10_000,
      email: 'a@b.test',
      noAcme: false,
      acmeDirectory: 'https://ca.test/dir',
      acmeRoot: '/r',
      acmeBinding: { kid: 'kid-1', key: 'c2VjcmV0' },
      dnsHook: '/h',
      dnsServer: { host: 'ns.test', port: 5353 },
      dnsKeyPath: '/k',
      dnsResolver: { host: '::1', port: 53 },
      localCerts: true,
    });
    // It can't be combined with an e-mail address.
    const { noAcme, ...others } = origins;
    assert.ok(Object.values(others).every((origin) => origin === 'flag'));
    assert.deepEqual([given.size, takeover, restarted], [42, true, false]);
  });

  it('takes over from nobody after a crash: a process that serves by then has taken over itself', () => {
    const { takeover, restarted } = readSettings(['--takeover'], { SLUICE_RESTARTED: '1' });
    assert.deepEqual([takeover, restarted], [false, true]);
  });

  it('uses the authority’s roots from the config file if no flag is set, and does not show them', () => {
    const pem = readFileSync(new URL('../../controller/sources/file/golden/imported/certificates/ca.pem', import.meta.url), 'utf8');
    const env = { [FILE_GLOBALS_VARIABLE]: JSON.stringify({ acme_ca_root: pem }) };
    const { acmeRoot, origins } = readSettings([], env);
    assert.ok(acmeRoot !== null && typeof acmeRoot !== 'string' && acmeRoot.pem.includes('BEGIN CERTIFICATE'));
    assert.equal(origins.acmeRoot, 'file');
    assert.equal(readSettings(['--acme-ca-root', '/r'], env).acmeRoot, '/r');
  });

  it('prefers flags over the environment, the environment over the file, and the file over the default', () => {
    const env = {
      SLUICE_HTTP_PORT: '81',
      SLUICE_HTTPS_PORT: '82',
      [FILE_GLOBALS_VARIABLE]: '{"http_port":91,"https_port":92,"bind":"127.0.0.1"}',
    };
    const settings = readSettings(['--http-port', '80'], env);
    assert.deepEqual([settings.httpPort, settings.httpsPort, settings.bind], [80, 82, '127.0.0.1']);
    assert.deepEqual([settings.origins.httpPort, settings.origins.httpsPort, settings.origins.bind], ['flag', 'environment', 'file']);
    assert.equal(settings.origins.workers, 'default');
  });

  it('opens the default socket for --admin-socket without a path, and none if its variable is 0', () => {
    assert.equal(readSettings(['--admin-socket'], {}).adminSocket, DEFAULT_ADMIN_SOCKET);
    assert.equal(readSettings([], { SLUICE_ADMIN_SOCKET: '1' }).adminSocket, DEFAULT_ADMIN_SOCKET);
    assert.equal(readSettings([], { SLUICE_ADMIN_SOCKET: '0' }).adminSocket, null);
    assert.equal(readSettings([], { SLUICE_ADMIN_SOCKET: '/x.sock' }).adminSocket, '/x.sock');
  });

  it('accepts all of 127.0.0.0/8, ::1 and localhost as an admin address', () => {
    for (const address of ['127.8.8.8:1', '[::1]:1', 'localhost:65535'])
      assert.equal(readSettings(['--admin-listen', address], {}).adminListen, address);
  });

  it('reports an error in one line', () => {
    assert.equal(usage(['--http-port', '0']), 'sluice dataplane: --http-port "0": a port must be a number from 1 to 65535');
    assert.match(usage(['--https-port', '65536']), /--https-port "65536": a port/);
    assert.match(usage([], { SLUICE_HTTP_PORT: '8o' }), /SLUICE_HTTP_PORT "8o": a port/);
    assert.match(usage(['--bind', 'localhost']), /--bind "localhost": it is not an IP address/);
    assert.match(usage(['--workers', '0']), /--workers "0": it is neither auto nor a number from 1 to 256/);
    assert.match(usage(['--workers', '257']), /--workers "257"/);
    assert.match(usage(['--admin-listen', '6190']), /--admin-listen "6190": the port is missing/);
    assert.match(usage(['--probe-listen', ':9000']), /--probe-listen ":9000": the host is missing/);
    assert.match(usage(['--admin-socket', `/${'x'.repeat(107)}`]), /at most 107 bytes/);
    assert.match(usage(['--trusted-proxies', '10.0.0.0/8,no']), /--trusted-proxies "no": it is not an IP address/);
    for (const flag of ['--max-connections', '--max-connections-per-address'])
      for (const wrong of ['0', 'many', '1e3', '10000001']) assert.match(usage([flag, wrong]), /it is not a number from 1 to 10000000/);
    assert.match(usage(['--log-level', 'loud']), /--log-level "loud": it is not one of debug, info, warn, error, fatal/);
    assert.match(usage(['--drain-timeout', '30']), /--drain-timeout "30": a duration is a number with a unit/);
    assert.match(usage(['--drain-timeout', '25h']), /longer than a day/);
    assert.equal(usage(['serve']), 'sluice dataplane: unexpected argument "serve" (it takes flags only)');
    assert.match(usage([], { [FILE_GLOBALS_VARIABLE]: '{' }), /SLUICE_FILE_GLOBALS is not JSON/);
    assert.match(usage([], { [FILE_GLOBALS_VARIABLE]: '{"http_port":0}' }), /SLUICE_FILE_GLOBALS .* http_port: /);
  });

  it('rejects flags and variables that are not available in this version', () => {
    const planned = DATAPLANE_FLAGS.filter((flag) => flag.unavailable).map((flag) => flag.name);
    assert.deepEqual(planned.join(' '), 'geoip');
    for (const name of planned) {
      assert.equal(usage([`--${name}`, '1']), `sluice dataplane: --${name} is not available yet`);
      const variable = `SLUICE_${name.toUpperCase().replaceAll('-', '_')}`;
      assert.equal(usage([], { [variable]: '1' }), `sluice dataplane: ${variable} is set, but --${name} is not available yet`);
    }
  });

  it('prints every available flag for --help, regardless of the other arguments', () => {
    assert.equal(readSettings(['stray', '--help'], {}).help, true);
    for (const flag of DATAPLANE_FLAGS) assert.equal(dataplaneHelp().includes(`--${flag.name}`), flag.unavailable !== true);
  });

  it('names the variables of the tokens in --help, since they have no flags', () => {
    assert.match(dataplaneHelp(), /^The tokens .*: SLUICE_ADMIN_TOKEN, and SLUICE_VIEW_TOKEN, which only reads\.$/m);
  });

  it('cannot be changed afterwards', () => {
    const settings = readSettings([], {});
    assert.throws(() => Object.assign(settings, { httpPort: 1 }), TypeError);
    assert.throws(() => Object.assign(settings.origins, { httpPort: 'flag' }), TypeError);
    assert.throws(() => Object.assign(effectiveSettings(settings, {}).settings, { httpPort: 1 }), TypeError);
  });
});

describe('effective', () => {
  it('applies saved globals below flags at boot', () => {
    const { settings, warnings } = effectiveSettings(
      readSettings(['--http-port', '1'], {}),
      globals({ http_port: 2, https_port: 3, drain_timeout: 4 }),
    );
    assert.deepEqual([settings.httpPort, settings.httpsPort, settings.publicHttpsPort, settings.drainTimeoutMs], [1, 3, 3, 4]);
    assert.deepEqual([settings.origins.httpsPort, settings.origins.publicHttpsPort], ['file', 'default']);
    assert.deepEqual(warnings, []);
  });

  it('prefers the parent’s globals over saved ones, without merging them', () => {
    const base = readSettings([], { [FILE_GLOBALS_VARIABLE]: '{"http_port":8080}' });
    const { settings } = effectiveSettings(base, globals({ http_port: 9090, bind: '127.0.0.1' }));
    assert.deepEqual([settings.httpPort, settings.bind], [8080, null]);
  });

  it('applies trusted proxies and the drain timeout at run time', () => {
    const base = readSettings([], {});
    const running = effectiveSettings(base, {}).settings;
    const { settings, warnings } = effectiveSettings(base, globals({ trusted_proxies: ['10.0.0.0/8'], drain_timeout: 5_000 }), running);
    assert.deepEqual([settings.trustedProxies, settings.drainTimeoutMs, warnings], [['10.0.0.0/8'], 5_000, []]);
  });

  it('returns to the defaults when the file no longer sets a value', () => {
    const running = effectiveSettings(readSettings([], {}), globals({ trusted_proxies: ['10.0.0.0/8'] })).settings;
    const { settings } = effectiveSettings(running, {}, running);
    assert.deepEqual([settings.trustedProxies, settings.origins.trustedProxies], [[], 'default']);
  });

  it('moves the listeners at run time', () => {
    const base = readSettings([], {});
    const running = effectiveSettings(base, {}).settings;
    const { settings, warnings } = effectiveSettings(base, globals({ http_port: 9090, bind: '127.0.0.1' }), running);
    assert.deepEqual([settings.httpPort, settings.bind, warnings], [9090, '127.0.0.1', []]);
    assert.equal(movesListeners(running, settings), true);
    assert.equal(movesListeners(running, effectiveSettings(base, globals({ drain_timeout: 5_000 }), running).settings), false);
  });

  it('keeps the listeners that cannot move, and says why', () => {
    const base = readSettings([], { [FILE_GLOBALS_VARIABLE]: '{"http_port":8080}' });
    const running = effectiveSettings(base, {}).settings;
    const { settings, warnings, statuses } = effectiveSettings(
      base,
      globals({ http_port: 9090, https_port: 9443, bind: '127.0.0.1' }),
      running,
      'it is taken',
    );
    assert.deepEqual([settings.httpPort, settings.httpsPort, settings.bind, settings.publicHttpsPort], [8080, 443, null, 443]);
    assert.deepEqual(settings.origins.httpPort, 'file');
    assert.deepEqual(warnings, [
      'http_port is 9090 in the config file, but stays 8080: it is taken',
      'https_port is 9443 in the config file, but stays 443: it is taken',
      'bind is 127.0.0.1 in the config file, but stays every address: it is taken',
    ]);
    assert.deepEqual(
      statuses.find((one) => one.name === 'http_port'),
      { name: 'http_port', value: 8080, origin: 'file' },
    );
  });

  it('does not move from a port set by a flag', () => {
    const base = readSettings(['--http-port', '8080'], {});
    const running = effectiveSettings(base, {}).settings;
    assert.equal(movesListeners(running, effectiveSettings(base, globals({ http_port: 9090 }), running).settings), false);
  });

  it('limits one address to a quarter of all connections by default, within bounds', () => {
    const base = readSettings(['--workers', '1'], {});
    for (const [given, each] of [
      [{ max_connections: 100 }, 100],
      [{ max_connections: 300 }, 256],
      [{ max_connections: 1_024 }, 256],
      [{ max_connections: 10_001 }, 2_501],
      [{ max_connections: 1_000_000 }, 4_096],
      [{ max_connections_per_address: 9 }, 9],
      [{ max_connections: 8_000, max_connections_per_address: 8_000 }, 8_000],
    ] as const)
      assert.equal(effectiveSettings(base, globals(given), base).settings.maxConnectionsPerAddress, each);
  });

  it('reads connection limits from the file, and warns if they exceed the file descriptors', () => {
    const base = readSettings(['--workers', '1'], {});
    const few = effectiveSettings(base, globals({ max_connections: 100, max_connections_per_address: 5 }), base);
    assert.deepEqual([few.settings.maxConnections, few.settings.maxConnectionsPerAddress, few.warnings], [100, 5, []]);
    assert.equal(few.settings.origins.maxConnections, 'file');
    const many = effectiveSettings(base, globals({ max_connections: 10_000_000 }), base);
    assert.match(many.warnings.join(), /^max_connections is 10000000, but file descriptors allow \d+; raise the limit of open files/);
  });

  it('warns about a cache on disk without a cache, which the config file may give a size', () => {
    const base = readSettings(['--cache-disk-size', '1gb'], {});
    assert.match(effectiveSettings(base, {}).warnings.join(), /^--cache-disk-size is set, but the cache has no size: nothing is stored/);
    assert.deepEqual(effectiveSettings(base, { cache: 1_048_576 }).warnings, []);
    for (const off of ['0', 'off']) assert.equal(readSettings(['--cache-disk-size', off], {}).cacheDiskSize, 0);
  });

  it('accepts PROXY headers only with trusted proxies, at startup and later', () => {
    const base = readSettings(['--proxy-protocol', '--workers', '1'], {});
    assert.throws(() => requireTrustedProxies(base), /--proxy-protocol needs trusted proxies/);
    const running = effectiveSettings(base, globals({ trusted_proxies: ['10.0.0.0/8'] }));
    requireTrustedProxies(running.settings);
    assert.deepEqual(running.warnings, []);
    assert.match(effectiveSettings(base, {}, running.settings).warnings.join(), /every connection is closed/);
  });

  it('opens the HTTPS port if there are certificates or will be', () => {
    const portOf = (...flags: string[]) => trafficSettings(readSettings(['--https-port', '8443', ...flags], {})).httpsPort;
    assert.equal(portOf(), existsSync('/etc/sluice/certs') ? 8443 : null);
    assert.equal(portOf('--cert-dir', '/somewhere'), 8443);
    assert.equal(portOf('--acme-email', 'a@example.com'), 8443);
  });

  it('reports each implemented flag with its origin', () => {
    const settings = readSettings(['--no-metrics'], { SLUICE_DRAIN_TIMEOUT: '90s' });
    const names = effectiveSettings(settings, {}).statuses.map((one) => one.name);
    // `--takeover` applies to a single start.
    const working = DATAPLANE_FLAGS.filter((flag) => !flag.unavailable && flag.name !== 'takeover').map((flag) =>
      flag.name.replace(/^(?:no-|acme-(?=email))/, '').replaceAll('-', '_'),
    );
    assert.deepEqual(names.toSorted(), working.toSorted());
    assert.deepEqual(status(settings, 'metrics'), { name: 'metrics', value: false, origin: 'flag' });
    assert.deepEqual(status(settings, 'drain_timeout'), { name: 'drain_timeout', value: '90s', origin: 'environment' });
  });

  it('formats durations in the largest whole unit', () => {
    assert.deepEqual([0, 1, 1_500, 30_000, 90_000, 120_000, 7_200_000].map(durationText), [
      '0s',
      '1ms',
      '1500ms',
      '30s',
      '90s',
      '2m',
      '2h',
    ]);
  });

  it('passes only what they need to the workers', () => {
    const words = '--trusted-proxies ::1 --bind 127.0.0.1 --max-connections 7 --workers 1';
    assert.deepEqual(trafficSettings(readSettings(words.split(' '), {})), {
      bind: '127.0.0.1',
      httpPort: 80,
      otherHttpPorts: [],
      httpsPort: null,
      otherHttpsPorts: [],
      closedPorts: [],
      https: { automatic: false, anyName: false, dns: false, internal: false, local: false, publicPort: 443 },
      trustedProxies: ['::1'],
      proxyProtocol: false,
      proxyProtocolPorts: [],
      maxConnections: 7,
      maxConnectionsPerAddress: 7,
      maxSockets: maxSocketsFor(1),
      logLevel: 'info',
      accessLog: null,
      cacheSize: 0,
      tracing: null,
    });
  });
});

test('the limit of open files is parsed from the kernel’s format', () => {
  const head = 'Limit                     Soft Limit           Hard Limit           Units     \n';
  assert.equal(parseOpenFilesLimit(`${head}Max open files            20000                524288               files     \n`), 20_000);
  assert.equal(parseOpenFilesLimit(head), 1_024);
});

test('analytics-retention is a duration from a day to ten years or off, analytics-max-size at least 1mb', () => {
  const read = (value: string) => () => readSettings(['--analytics-retention', value], {});
  assert.equal(read('90d')().analyticsRetention, 90 * 86_400_000);
  for (const value of ['1h', '4000d', 'never', '0']) assert.throws(read(value), UsageError, value);
  assert.throws(() => readSettings(['--analytics-max-size', '100kb'], {}), /it is less than 1mb/);
});

test('the endpoint, the fields and the ratio of traces are checked, and the values of fields are in no error', () => {
  const read = (flag: string, value: string) => () => readSettings([flag, value], {});
  assert.equal(read('--otlp-endpoint', 'http://[::1]:4318')().otlpEndpoint, 'http://[::1]:4318/v1/traces');
  assert.equal(read('--otlp-endpoint', 'https://a.test/x//')().otlpEndpoint, 'https://a.test/x/v1/traces');
  assert.equal(read('--otlp-endpoint', 'off')().otlpEndpoint, null);
  for (const value of ['collector:4317', 'grpc://a.test', 'a.test', 'http://u:p@a.test', 'http://a.test/?x=1', 'http://a.test/#x'])
    assert.throws(read('--otlp-endpoint', value), UsageError, value);
  for (const value of ['no', 'a b=1', 'a=%', 'a=%0d%0ax:y', '=x']) assert.throws(read('--otlp-headers', value), UsageError, value);
  assert.throws(read('--otlp-headers', 'a b=hidden'), (error: Error) => !error.message.includes('hidden'));
  assert.deepEqual(
    [0, 1, 0.01].map((ratio) => read('--trace-sampling', `${ratio}`)().traceSampling),
    [0, 1, 0.01],
  );
  for (const value of ['2', '-1', '1%', '1.1', 'all', '.5']) assert.throws(read('--trace-sampling', value), UsageError, value);
});

test('variables of OpenTelemetry neither turn tracing on nor prevent a start', () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_EXPORTER_OTLP_HEADERS: 'a=%', OTEL_SERVICE_NAME: 'edge' };
  const { otlpEndpoint, otlpHeaders, otlpServiceName } = readSettings([], env);
  assert.deepEqual([otlpEndpoint, otlpHeaders, otlpServiceName], [null, [], 'sluice']);
});

describe('--no-acme', () => {
  it('orders no certificates although the config file has an e-mail, and says why', () => {
    const { settings, warnings } = effectiveSettings(readSettings(['--no-acme'], {}), globals({ email: 'a@example.com' }));
    assert.equal(settings.email, null);
    assert.equal(trafficSettings(settings).https.automatic, false);
    assert.match(warnings.join(), /^email is set in the config file, but not used: .*--no-acme.*TLS Secrets/);
    assert.deepEqual(effectiveSettings(readSettings(['--no-acme'], {}), {}).warnings, []);
    assert.equal(status(readSettings(['--no-acme'], {}), 'acme')?.value, false);
  });

  it('refuses an e-mail of its own', () => {
    assert.match(usage(['--no-acme', '--acme-email', 'a@example.com']), /--acme-email does not go with --no-acme: no certificates/);
    assert.match(usage(['--no-acme'], { SLUICE_ACME_EMAIL: 'a@example.com' }), /does not go with --no-acme/);
  });
});
