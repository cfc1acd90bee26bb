import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { splitAddress } from '../shared/address.ts';
import { NAME } from '../shared/name.ts';
import { buildInfo } from '../shared/runtime/build.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import type { Log } from '../shared/runtime/log.ts';
import type { Random } from '../shared/runtime/random.ts';
import { TAKEOVER_SOCKET } from '../shared/wire/takeover.ts';
import { Admin } from './admin/admin.ts';
import { EventFeed } from './admin/event-feed.ts';
import { createAnalytics } from './analytics/analytics.ts';
import { Health } from './health/health.ts';
import { createLedger } from './ledger/ledger.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { StatePublisher } from './publish/publisher.ts';
import { prepareStateDir } from './settings/directories.ts';
import { LiveSettings } from './settings/live-settings.ts';
import { type DataplaneSettings, effective, requireTrustedProxies, trafficSettings, usesHttps } from './settings/settings.ts';
import { explain } from './status/explain.ts';
import { ownAddresses } from './status/own-addresses.ts';
import { Readiness } from './status/readiness.ts';
import { Upstreams } from './status/upstreams.ts';
import { awaitWord } from './table/await-word.ts';
import { bootId } from './table/confirmations.ts';
import { initialRoutes, LiveTable, savedRoutes } from './table/live-table.ts';
import { restore } from './table/restore.ts';
import type { CertificateKeeper } from './table/table.ts';
import { describe } from './takeover/describe.ts';
import { Predecessor } from './takeover/predecessor.ts';
import { Successor } from './takeover/successor.ts';
import { CertificateDirectoryError, HttpsOnDemand } from './tls/https-on-demand.ts';
import type { AuthoritySettings } from './tls/issue/authority.ts';
import { type DnsSettings, dnsSettings } from './tls/issue/dns/dns-settings.ts';
import { Keyring } from './tls/keyring.ts';
import { inWords, usable } from './usable.ts';
import { MemoryWatch } from './workers/memory.ts';
import { probePort } from './workers/port.ts';
import { queueAdvice } from './workers/queues.ts';
import { Workers } from './workers/workers.ts';

/** How often quiet clients are dropped from the rate ledger (ms). */
const SWEEP_MS = 60_000;
/** How long a process that takes over asks the targets of what it restored before it serves, at most (ms). */
const FIRST_ANSWERS_MS = 2_000;

export type Dataplane = {
  /** Asks the controllers to read their config file again. */
  reload(): void;
  /** Finishes what is under way, for as long as the settings say, and closes everything. */
  drain(): Promise<void>;
};

type Edge = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly token: string | undefined;
  /** Another process has taken over. */
  readonly leaving: () => void;
  /** This one has finished what it had. */
  readonly handedOver: () => void;
};

/** The main thread, wired in flow order: disk → table → publish → workers, and back through counters → admin. @throws UsageError. */
export async function startDataplane(
  base: DataplaneSettings,
  { clock, random, log, token, leaving, handedOver }: Edge,
): Promise<Dataplane> {
  const startedAt = clock.monotonic();
  prepareStateDir(base.stateDir);
  const keyring = new Keyring(base.stateDir, clock.now(), { random, log });
  const predecessor = base.takeover ? await takenOver(base.stateDir, () => successorOf(base.stateDir, clock, log)) : null;
  const restored = await restore(base.stateDir, clock, log, { boot: bootId(), takenOver: predecessor !== null });
  const atBoot = effective(base, restored.globals);
  const { settings } = atBoot;
  requireTrustedProxies(settings);
  const dns = usableDns(settings);
  const ports = trafficSettings(settings);
  if (predecessor === null) {
    await usable('--http-port', () => probePort(ports.bind, ports.httpPort), ports.httpPort);
    const { httpsPort } = ports;
    if (httpsPort !== null) await usable('--https-port', () => probePort(ports.bind, httpsPort), httpsPort);
  }

  const publisher = new StatePublisher(initialRoutes(restored), trafficSettings(settings));
  const certificates: CertificateKeeper = { bring: (frame) => https.bring(frame), drop: (frame) => https.drop(frame) };
  const table = new LiveTable({ restored, publisher, clock, random, certificates });
  const readiness = new Readiness(table, restored);

  const ledger = createLedger(Workers.slots(settings.workers));
  const events = new EventFeed();
  const health = new Health({
    clock,
    random,
    log,
    targets: ledger.targets,
    changed: ({ tls: _, ...change }) => {
      if (change.healthy) workers.tellVerdicts();
      events.emit({ kind: 'upstream', ...change });
    },
  });
  const upstreams = new Upstreams({ table, targets: ledger.targets, health, clock });
  const analytics = createAnalytics({ clock });
  const metrics: Metrics = createMetrics({
    clock,
    version: buildInfo().version,
    read: () => ({
      ...table.counts(),
      workers: workers.serving,
      inFlight: ledger.inFlight.total(),
      connections: ledger.connections.reading(),
      upstreams: upstreams.list(),
      certificates: https.reading(),
    }),
  });
  const workers = new Workers({
    count: settings.workers,
    ledger,
    hashKey: keyring.visitors,
    clock,
    log,
    state: () => publisher.state(),
    onReport: (report) => {
      analytics.take(report);
      metrics.take(report);
      upstreams.take(report);
    },
    onTarget: (change) => {
      upstreams.changed(change);
      const { tls: _, ...report } = change;
      events.emit({ kind: 'upstream', ...report });
    },
    onAwaited: (name) => https.hurry(name),
    onChange: (worker, state, reason) => {
      if (state === 'died' || state === 'replaced') metrics.countWorkerRestart(state === 'died' ? 'died' : 'silent');
      events.emit({ kind: 'worker', worker, state, reason });
    },
  });
  let inForce = (): DataplaneSettings => settings;
  const https = new HttpsOnDemand({
    clock,
    random,
    log,
    keyring,
    publisher,
    certDir: settings.certDir,
    stateDir: base.stateDir,
    sites: () => table.sites(),
    site: (domain) => table.site(domain),
    reachable: () => reachable(inForce()),
    addresses: () => ownAddresses(networkInterfaces()),
    httpPort: () => inForce().httpPort,
    opened: async () => {
      await publisher
        .publish({ settings: trafficSettings(inForce()) })
        .catch((error: unknown) => log.error({ error: String(error) }, 'the port for HTTPS is not open everywhere'));
    },
  });
  if (usesHttps(settings)) await openCertificates(https, settings, dns);
  await https.certifyInternally(settings.localCerts);
  publisher.attach(workers);
  health.take(savedRoutes(restored));
  publisher.watchRoutes((routes) => health.take(routes));
  // The process that it takes over from serves these targets: there must be no moment in which this one knows none of them.
  if (predecessor !== null) await health.firstAnswers(FIRST_ANSWERS_MS);
  await usable('--http-port', () => workers.start(), settings.httpPort);

  const live = new LiveSettings(base, atBoot, {
    publisher,
    log,
    probe: (bind, port) => inWords(() => probePort(bind, port)),
    roll: (withinMs) => inWords(() => workers.roll(withinMs)),
  });
  inForce = () => live.settings;
  const certify = async (now: DataplaneSettings): Promise<void> => {
    await https.adopt(authorityOf(now, dns));
    await https.certifyInternally(now.localCerts);
  };
  table.onChange((change) => {
    https.routesChanged(change);
    if (change.settings) void live.adopt(table.globals()).then(() => certify(live.settings));
  });

  const fresh = async <T>(read: () => T | Promise<T>): Promise<T> => {
    await workers.collect();
    return read();
  };
  const admin = new Admin(
    {
      table,
      clock,
      log,
      token,
      events,
      analytics: { snapshots: () => fresh(() => analytics.snapshots()), snapshot: (host) => fresh(() => analytics.snapshot(host)) },
      metrics: settings.metrics ? { text: () => fresh(() => metrics.text()) } : null,
      uptimeSecs: () => Math.floor((clock.monotonic() - startedAt) / 1_000),
      ready: () => readiness.now(),
      settings: () => live.statuses,
      upstreams: () => upstreams.list(),
      standing: () => health.standing().map(({ tls: _, ...report }) => report),
      certificates: https,
      internalRoot: () => https.root(),
      explain: (url) =>
        explain({ table, upstreams, certificateOf: (host) => https.describe(host), dryRun: (request) => workers.dryRun(request) }, url),
      status: () => ({
        instance: table.instance,
        version: buildInfo().version,
        ...readiness.now(),
        uptime_secs: Math.floor((clock.monotonic() - startedAt) / 1_000),
        generation: publisher.generation,
        ...table.counts(),
        workers: { configured: settings.workers, serving: workers.serving, restarts: workers.restarts },
        problems: [...table.problems()],
        warnings: [...readiness.warnings(), ...live.warnings, ...https.warnings],
        advice: queueAdvice(),
      }),
      reloaded: (ok) => metrics.reloadOutcome(ok),
      addresses: () => ownAddresses(networkInterfaces()),
    },
    random,
  );
  await takenOver(base.stateDir, async () => predecessor?.serving());
  awaitWord(table, restored, clock, log);
  await listen(admin, settings);
  await takenOver(base.stateDir, async () => predecessor?.done());
  await certify(settings);
  const stopSweeping = clock.every(SWEEP_MS, () => ledger.rates.sweep(clock.now()));
  const stopWeighing = new MemoryWatch(workers, { clock, log, drainMs: () => live.settings.drainTimeoutMs }).start();
  const end = async (patient: boolean): Promise<void> => {
    const { drainTimeoutMs } = live.settings;
    log.info({ within: drainTimeoutMs }, 'draining');
    stopWeighing();
    health.stop();
    https.stop();
    if (patient) table.close();
    else heir.close();
    await workers.drain(drainTimeoutMs, patient);
    stopSweeping();
    await admin.close();
    if (!patient) table.close();
    log.info('data plane stopped');
  };
  const heir = new Predecessor(
    {
      describe: () => describe(process),
      release: () => {
        https.pause();
        return table.release();
      },
      reclaim: () => {
        https.resume();
        return table.reclaim();
      },
      closeAdmin: () => admin.close(),
      openAdmin: () => listen(admin, settings),
      leave: () => {
        leaving();
        void end(true).then(handedOver);
      },
    },
    clock,
    log,
  );
  await heir
    .listen(join(base.stateDir, TAKEOVER_SOCKET))
    .catch((error: unknown) => log.warn({ error: String(error) }, 'no other process can take over from this one'));
  for (const warning of live.warnings) log.warn(warning);
  for (const advice of queueAdvice()) log.info(advice);
  log.info(
    {
      http: `${settings.bind ?? '*'}:${ports.httpPort}`,
      ...(ports.httpsPort !== null && { https: `${settings.bind ?? '*'}:${ports.httpsPort}` }),
      admin: settings.adminListen,
      socket: settings.adminSocket,
      workers: settings.workers,
      ...table.counts(),
    },
    'data plane started',
  );

  return { reload: () => admin.requestReload(), drain: () => end(false) };
}

/** Has a running data plane let go of its state. @returns null where none is there. @throws ChannelError. */
async function successorOf(stateDir: string, clock: Clock, log: Log): Promise<Successor | null> {
  const path = join(stateDir, TAKEOVER_SOCKET);
  const successor = await Successor.of(path, { version: buildInfo().version, pid: process.pid }, clock);
  if (successor === null) log.info({ socket: path }, 'nobody to take over from: starting as usual');
  return successor;
}

/** A step of taking over, in which the other process may refuse. @throws UsageError. */
async function takenOver<T>(stateDir: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new UsageError(`${NAME} dataplane: can't take over from the process behind ${join(stateDir, TAKEOVER_SOCKET)}: ${reason}`);
  }
}

async function listen(admin: Admin, { adminListen, adminSocket, probeListen }: DataplaneSettings): Promise<void> {
  const tcp = splitAddress(adminListen);
  await usable('--admin-listen', () => admin.listenTcp(tcp.host, Number(tcp.port)), adminListen);
  if (adminSocket !== null) await usable('--admin-socket', () => admin.listenSocket(adminSocket), adminSocket);
  if (probeListen === null) return;
  const probe = splitAddress(probeListen);
  await usable('--probe-listen', () => admin.listenProbe(probe.host, Number(probe.port)), probeListen);
}

/** @throws UsageError with the directory, the reason and the flag that names another one. */
async function openCertificates(https: HttpsOnDemand, settings: DataplaneSettings, dns: DnsSettings | null): Promise<void> {
  try {
    if (authorityOf(settings, dns) !== null || settings.origins.certDir !== 'default') https.requireDirectory();
  } catch (error) {
    throw error instanceof CertificateDirectoryError ? new UsageError(`${NAME} dataplane: ${error.message}`) : error;
  }
  await https.open();
}

/** @throws where the port for HTTPS is closed and can't be had. */
async function reachable(settings: DataplaneSettings): Promise<void> {
  const { bind, httpsPort } = settings;
  if (trafficSettings(settings).httpsPort !== null) return;
  await inWords(() => probePort(bind, httpsPort)).catch((error: Error) => {
    throw new Error(`can't listen on ${httpsPort}: ${error.message}; name another with --https-port`);
  });
}

/** Who is asked for certificates; nobody without an e-mail, or where our own authority is for all. */
const authorityOf = (
  { email, localCerts, acmeDirectory, acmeRoot, acmeBinding }: DataplaneSettings,
  dns: DnsSettings | null,
): AuthoritySettings | null =>
  email === null || localCerts ? null : { directory: acmeDirectory, rootPath: acmeRoot, email, binding: acmeBinding, dns };

/** How records are set for checks. @throws UsageError naming the flag. */
function usableDns({ dnsHook, dnsServer, dnsKeyPath, dnsResolver }: DataplaneSettings): DnsSettings | null {
  try {
    return dnsSettings({ hook: dnsHook, server: dnsServer, keyPath: dnsKeyPath, resolver: dnsResolver });
  } catch (error) {
    throw new UsageError(`${NAME} dataplane: ${error instanceof Error ? error.message : error}`);
  }
}
