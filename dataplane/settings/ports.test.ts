import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../shared/runtime/flags.ts';
import { parseGlobals } from '../../shared/settings.ts';
import { listenedPorts, portsProblem, requireDistinctPorts } from './ports.ts';
import { effectiveSettings, movesListeners, readSettings, requireTrustedProxies, trafficSettings } from './settings.ts';

const globals = (input: object) => {
  const parsed = parseGlobals(input);
  assert.ok(parsed.ok, JSON.stringify(input));
  return parsed.value;
};
const statusOf = (settings: ReturnType<typeof effectiveSettings>, name: string) => settings.statuses.find((one) => one.name === name);

test('several ports come from repeated flags, a variable or the file, and the first is the main one', () => {
  const flags = readSettings(['--http-port', '8080', '--http-port', '8081,8082', '--local-certs'], { SLUICE_HTTPS_PORT: '8443,9443' });
  assert.deepEqual(
    [flags.httpPort, flags.otherHttpPorts, flags.httpsPort, flags.otherHttpsPorts, flags.publicHttpsPort],
    [8080, [8081, 8082], 8443, [9443], 8443],
  );
  assert.deepEqual(listenedPorts(trafficSettings(flags)), [
    ...[8080, 8081, 8082].map((port) => ({ port, flag: '--http-port' })),
    ...[8443, 9443].map((port) => ({ port, flag: '--https-port' })),
  ]);
  const base = readSettings(['--state-dir', '/nowhere'], {});
  const file = effectiveSettings(base, globals({ http_port: [80, 8080], https_port: 8443 }));
  assert.deepEqual([file.settings.otherHttpPorts, file.settings.otherHttpsPorts], [[8080], []]);
  assert.deepEqual(statusOf(file, 'http_port'), { name: 'http_port', value: [80, 8080], origin: 'file' });
  assert.deepEqual(statusOf(file, 'https_port'), { name: 'https_port', value: 8443, origin: 'file' });
});

test('the ports of the file are replaced by those of a flag, not added to them', () => {
  const base = readSettings(['--http-port', '8080'], {});
  const { settings } = effectiveSettings(base, globals({ http_port: [80, 81], https_port: [443, 444] }));
  assert.deepEqual([settings.httpPort, settings.otherHttpPorts, settings.otherHttpsPorts], [8080, [], [444]]);
});

test('a port that is named twice is refused, since sockets would share it', () => {
  for (const [argv, problem] of [
    [['--http-port', '80,80'], 'port 80 is named twice'],
    [['--http-port', '80,8443', '--https-port', '443,8443'], '8443 is both an http_port and an https_port; choose another one for either'],
    [['--https-port', Array.from({ length: 17 }, (_, at) => 1000 + at).join()], 'https_port has 17 ports, and 16 are the most'],
  ] as const) {
    const settings = readSettings([...argv], {});
    assert.equal(portsProblem(settings), problem);
    assert.throws(() => requireDistinctPorts(settings), new UsageError(`sluice dataplane: ${problem}`));
  }
  assert.equal(portsProblem(readSettings([], {})), null);
});

test('an added or removed port moves the listeners; if it can’t, all stay, and the warning names them', () => {
  const base = readSettings(['--workers', '1'], {});
  const running = effectiveSettings(base, globals({ http_port: [80, 81] }), base).settings;
  for (const http_port of [80, [80, 81, 82], [81, 80]])
    assert.ok(movesListeners(running, effectiveSettings(base, { http_port }, running).settings));
  assert.ok(!movesListeners(running, effectiveSettings(base, { http_port: [80, 81] }, running).settings));
  const kept = effectiveSettings(base, globals({ http_port: [80, 82] }), running, 'port 82: the address is already in use');
  assert.deepEqual([kept.settings.httpPort, kept.settings.otherHttpPorts], [80, [81]]);
  assert.deepEqual(kept.warnings, ['http_port is 80 82 in the config file, but stays 80 81: port 82: the address is already in use']);
});

test('PROXY headers on some ports need trusted proxies, and ports that are open', () => {
  const base = readSettings(['--proxy-protocol-ports', '80,9000', '--workers', '1'], {});
  assert.throws(() => requireTrustedProxies(base), /--proxy-protocol-ports needs trusted proxies/);
  assert.deepEqual(effectiveSettings(base, {}).warnings, [
    '--proxy-protocol-ports names 80, 9000 and trusted_proxies is empty: every connection to them is closed',
    '--proxy-protocol-ports names 9000, but nothing listens there; add it to --http-port or --https-port',
  ]);
  assert.deepEqual(trafficSettings(base).proxyProtocolPorts, [80, 9000]);
});

test('each further port takes a descriptor per worker from the connections', () => {
  const socketsOf = (...flags: string[]) => trafficSettings(readSettings(['--workers', '3', '--local-certs', ...flags], {})).maxSockets;
  assert.equal(socketsOf('--http-port', '80,81', '--https-port', '443,444,445'), socketsOf() - 3 * 3);
});
