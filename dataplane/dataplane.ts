import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NAME } from '../shared/name.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import { openLate } from '../shared/runtime/http/late-socket.ts';
import type { UpgradeOutcome } from '../shared/runtime/process/parent.ts';
import { LISTENERS_SOCKET, TAKEOVER_SOCKET, type VersionOf } from '../shared/wire/takeover.ts';
import type { Admin } from './admin/admin.ts';
import type { AdminDependencies } from './admin/dependencies.ts';
import { EventFeed } from './admin/events/event-feed.ts';
import { OwnCertificate } from './admin/own-certificate.ts';
import { type BootState, boot, leaveIfReplaced, type Runtime, takeoverStep } from './boot.ts';
import { type Components, createComponents } from './components.ts';
import { configureCertificates, openCertificates } from './configure-certificates.ts';
import { attackKeys, isAttacked } from './ledger/attacks.ts';
import { listenAdmin } from './listen-admin.ts';
import { listenOnPorts } from './listen-error.ts';
import { overviewParts, sensitiveDirectories, statusOf } from './overview-parts.ts';
import { UnacknowledgedError } from './publish/publisher.ts';
import { exposedDirectories } from './settings/exposed-directories.ts';
import { listenedPorts, RETRY_PORTS_MS } from './settings/ports.ts';
import { requireTokenForOthers, requireViewToken } from './settings/remote-admin.ts';
import { type DataplaneSettings, trafficSettings, usesHttps } from './settings/settings.ts';
import { explain } from './status/explain.ts';
import { alertsNow, overviewOf } from './status/overview.ts';
import { ownAddresses } from './status/own-addresses.ts';
import { awaitControllers } from './table/unconfirmed/await-controllers.ts';
import { savedRoutes } from './table/unconfirmed/published-routes.ts';
import { describeProcess } from './takeover/describe-process.ts';
import type { TakeoverClient } from './takeover/takeover-client.ts';
import { TakeoverServer } from './takeover/takeover-server.ts';
import { watchMemory } from './workers/memory-watchdog.ts';
import { tcpMigrationAdvice } from './workers/tcp-migration.ts';

/** How often idle clients are dropped from the rate ledger (ms). */
const SWEEP_MS = 60_000;
/** The aggregation cycle of analytics (ms). */
const AGGREGATION_MS = 60_000;
/** How often it is checked whether the table is still saved (ms). */
const SAVED_MS = 10_000;
/** How long a successor waits for the first health checks of restored targets before it serves (ms). */
const FIRST_ANSWERS_MS = 2_000;
/** How long a purge may take in the workers (ms). */
const PURGE_MS = 5_000;
const NO_TAKEOVER =
  'the takeover socket could not be opened, so no other process can take over from this one; it is tried again every 10 s';

export type Dataplane = {
  /** Asks the controllers to reload their config file. */
  reload(): void;
  /** Begins new files for the access log in place of those that were renamed. */
  reopenLogs(): void;
  /** Finishes requests in progress, up to the drain timeout, and closes everything. */
  drain(): Promise<void>;
};

type ProcessContext = Runtime & {
  readonly token: string | undefined;
  /** A second token for the Admin API, which only reads. */
  readonly viewToken: string | undefined;
  /** Asks the parent process to start a successor with a launcher. */
  readonly successor: (launcher: string) => Promise<UpgradeOutcome>;
  /** Resolves when the process is told to stop, perhaps while it starts. */
  readonly stopped: Promise<void>;
  /** Called, perhaps repeatedly, once there may be requests to finish. */
  readonly committed: () => void;
  /** Another process has taken over. */
  readonly leaving: (successor: VersionOf) => void;
  /** This process has drained after a takeover. */
  readonly handedOver: () => void;
  /** Called when the drain begins, and again with its time limit (ms) when that begins. */
  readonly draining: (within?: number) => void;
};

/** The main thread, in flow order: disk → table → publish → workers, and back through counters → admin. @throws UsageError. */
export async function startDataplane(base: DataplaneSettings, runtime: ProcessContext): Promise<Dataplane> {
  const { clock, log } = runtime;
  const startedAt = clock.monotonic();
  requireTokenForOthers(base, runtime.token);
  requireViewToken(base, runtime);
  const certificate = ownCertificate(base, runtime);
  if (base.restarted) await leaveIfReplaced(base.stateDir, runtime);
  const booted = await boot(base, runtime);
  const { settings } = booted.atBoot;
  const { dns, takeover } = booted;
  const events = new EventFeed();
  const components = createComponents(booted, runtime, (event) => {
    if (event.kind === 'worker' && event.state === 'started') runtime.committed();
    events.emit(event);
  });
  const { table, https, live, workers, cache, lost } = components;
  events.subscribe((event) => event.kind === 'controller' && lost.controller(event.controller, event.connected));
  await serve(components, booted, runtime.stopped);
  table.onChange((change) => {
    https.routesChanged(change);
    if (change.settings)
      void live.apply(table.globals()).then(() => {
        cache.resize(live.settings.cacheSize);
        return configureCertificates(https, live.settings, dns);
      });
  });

  // Loaded once traffic is served, which needs none of it.
  const { Admin } = await import('./admin/admin.ts');
  const admin = new Admin(adminDependencies(components, { ...runtime, events, settings, startedAt, certificate }), runtime.random);
  const openAdmin = () => listenAdmin(admin, settings, certificate, booted.unwritable === null ? null : log);
  const beginToWait = awaitControllers(table, booted.restored, clock, log);
  const enter = async (): Promise<void> => {
    await openAdmin();
    beginToWait();
    certificate?.watch();
  };
  if (takeover === null) await enter();
  else
    await completeTakeover(takeover, base.stateDir, enter, runtime.stopped).catch(async (error: unknown) => {
      await giveBack(components, admin, takeover, runtime);
      throw error;
    });
  components.cacheFiles?.own();
  await configureCertificates(https, settings, dns);

  const stops: (() => unknown)[] = [
    clock.every(SWEEP_MS, () => {
      for (const rates of Object.values(components.ledger.rates)) rates.sweep(clock.now());
    }),
    clock.every(AGGREGATION_MS, () => void components.analytics.aggregate()),
    clock.every(SAVED_MS, () => void table.keepSaved()),
    clock.every(RETRY_PORTS_MS, () => void live.retry()),
    watchMemory(workers, { clock, log, drainMs: () => live.settings.drainTimeoutMs }),
  ];
  let isLeaving = false;
  /** A shutdown may follow a handover that has begun. */
  const end = async (ending: Ending): Promise<void> => {
    isLeaving = true;
    for (const stop of stops) stop();
    if (ending === 'shutdown') takeoverServer.close();
    certificate?.stop();
    await endServing(components, admin, runtime, ending);
  };
  const takeoverServer = createTakeoverServer(components, base.stateDir, admin, openAdmin, runtime, end);
  stops.push(
    await openLate(clock, () => takeoverServer.listen(join(base.stateDir, TAKEOVER_SOCKET)), {
      failed: (error) => log.warn({ reason: error instanceof Error ? error.message : String(error) }, NO_TAKEOVER),
      opened: () => log.info('the takeover socket is open now'),
    }),
  );
  announce(components, settings, runtime);
  return {
    reload: () => admin.requestReload(),
    reopenLogs: () => components.accessLog.reopen(),
    drain: async () => {
      const wasLeaving = isLeaving;
      if (!wasLeaving) await delayShutdown(components, runtime);
      // Another process has taken over during the delay: this one ends when the takeover is complete.
      if (isLeaving && !wasLeaving) return new Promise(() => undefined);
      runtime.draining();
      return end('shutdown');
    },
  };
}

/** Before the drain, load balancers may learn that requests should go elsewhere, while all that arrive are still served. */
async function delayShutdown({ readiness, live }: Components, { clock, log }: Runtime): Promise<void> {
  const { shutdownDelayMs } = live.settings;
  readiness.stop();
  if (shutdownDelayMs === 0) return;
  log.info({ in: shutdownDelayMs }, 'not ready any more; the drain begins later');
  await new Promise<void>((resolve) => clock.after(shutdownDelayMs, resolve));
}

/** Opens the ports and serves the saved state. Does not wait for the rest of the workers once it is told to stop. @throws UsageError. */
async function serve(
  { publisher, workers, health, https, keySets, traceExport }: Components,
  { base, atBoot: { settings }, dns, restored, takeover }: BootState,
  stopped: Promise<void>,
): Promise<void> {
  if (usesHttps(settings)) await openCertificates(https, settings, dns);
  await https.useInternalIssuer(settings.localCerts);
  traceExport.start();
  keySets.update(savedRoutes(restored));
  publisher.attach(workers);
  health.update(savedRoutes(restored));
  publisher.onRoutes((routes) => health.update(routes));
  publisher.onRoutes((routes) => keySets.update(routes));
  // The predecessor serves these targets, so this process must know their health before it takes connections.
  if (takeover !== null) await health.firstResults(FIRST_ANSWERS_MS);
  const listenersFrom = takeover?.offersListeners === true ? join(base.stateDir, LISTENERS_SOCKET) : null;
  await listenOnPorts(listenedPorts(trafficSettings(settings)), () => Promise.race([workers.start(listenersFrom), stopped]));
}

type AdminContext = Pick<ProcessContext, 'clock' | 'log' | 'token' | 'viewToken'> & {
  readonly events: EventFeed;
  readonly settings: DataplaneSettings;
  /** On the monotonic clock. */
  readonly startedAt: number;
  readonly certificate: OwnCertificate | null;
};

/** The dependencies of the Admin API. */
function adminDependencies(
  components: Components,
  { clock, log, token, viewToken, events, settings, startedAt, certificate }: AdminContext,
): AdminDependencies {
  const { table, readiness, health, upstreams, analytics, history, metrics, workers, live, https, cache } = components;
  const fresh = async <T>(read: () => T | Promise<T>): Promise<T> => {
    await workers.collect();
    return read();
  };
  const uptimeSecs = () => Math.floor((clock.monotonic() - startedAt) / 1_000);
  const parts = overviewParts(components, { clock, log, settings, certificate, uptimeSecs });
  const described = {
    table,
    upstreams,
    certificateOf: (host: string) => https.explain(host),
    plainHttpCertificateOf: (host: string) => https.explainPlainHttp(host),
  };
  return {
    ...{ table, clock, log, token, viewToken, events, uptimeSecs, certificates: https },
    analytics: {
      snapshots: () => fresh(() => analytics.snapshots()),
      snapshot: (host) => fresh(() => analytics.snapshot(host)),
      forget: (host) => analytics.forget(host),
    },
    history: history && {
      answer: (host, range, format) => fresh(() => history.answer(host, range, format)),
      forget: (host) => fresh(() => history.forget(host)),
    },
    metrics: settings.metrics ? { text: (isConnected) => fresh(() => metrics.text(isConnected)) } : null,
    ready: () => readiness.now(),
    settings: () => live.statuses,
    upstreams: () => upstreams.list(),
    targetReports: () => health.latest().map(({ tls: _, ...report }) => report),
    isAttacked: (domain) => isAttacked(components.ledger.rates, attackKeys(domain), clock.now()),
    internalRoot: () => https.internalRoot(),
    explain: (url) =>
      fresh(() => explain({ ...described, dryRun: (request) => workers.dryRun(request), pages: (host) => analytics.pages(host) }, url)),
    status: () => statusOf(parts, components),
    overview: (connected) => overviewOf(parts, connected),
    alerts: (connected) => alertsNow(parts, connected),
    purge: async (purge) => {
      if (!cache.enabled) return null;
      const removing = cache.purgeEverywhere(purge, true);
      if (!(await workers.whenPurged(cache.purged, PURGE_MS))) throw new UnacknowledgedError('not every worker has removed it yet');
      return removing;
    },
    reloaded: (ok) => metrics.reloadOutcome(ok),
    addresses: () => ownAddresses(networkInterfaces()),
  };
}

/** The certificate of the Admin API; null if it uses plain HTTP. @throws UsageError. */
function ownCertificate({ adminTlsCert, adminTlsKey }: DataplaneSettings, runtime: Runtime): OwnCertificate | null {
  if (adminTlsCert === null || adminTlsKey === null) return null;
  const read = OwnCertificate.read({ certificate: adminTlsCert, privateKey: adminTlsKey }, runtime);
  if (read.ok) return read.value;
  throw new UsageError(`${NAME} dataplane: the Admin API can't use --admin-tls-cert and --admin-tls-key: ${read.reason}`);
}

/** Told to stop during a takeover, this process has given everything back. */
class StoppedError extends UsageError {
  /** As in a shell after SIGTERM. */
  override readonly exitCode = 143;
}

/** Takes the rest from the predecessor, once our workers serve. @throws UsageError if it continues instead, or if we are told to stop. */
async function completeTakeover(
  takeover: TakeoverClient,
  stateDir: string,
  enter: () => Promise<void>,
  stopped: Promise<void>,
): Promise<void> {
  const told = stopped.then(() => Promise.reject(new StoppedError(`${NAME} dataplane: told to stop before it had taken over`)));
  // Perhaps while the workers started.
  await Promise.race([told, nextTurn()]);
  await Promise.race([told, takeoverStep(stateDir, () => takeover.serving())]);
  await enter();
  await Promise.race([told, nextTurn()]);
  // Told from here on, it drains when it knows whether the predecessor has left.
  await takeoverStep(stateDir, () => takeover.done());
}

/** The predecessor takes everything back, and the requests that our workers have accepted are finished. */
async function giveBack(components: Components, admin: Admin, takeover: TakeoverClient, runtime: ProcessContext): Promise<void> {
  const { https, table, cacheFiles } = components;
  runtime.draining();
  await Promise.all([https.stop(), admin.close(), cacheFiles?.release()]);
  table.close();
  takeover.abandon();
  await endServing(components, admin, runtime, 'handover');
}

/** Lets another process take over from this one. */
function createTakeoverServer(
  { table, https, cacheFiles, workers, live, lost }: Components,
  stateDir: string,
  admin: Admin,
  openAdmin: () => Promise<void>,
  { clock, log, successor, leaving, handedOver }: ProcessContext,
  end: (ending: Ending) => Promise<void>,
): TakeoverServer {
  const description = describeProcess(process, clock.now());
  const server: TakeoverServer = new TakeoverServer(
    {
      describe: () => description,
      upgrade: async (launcher) => {
        const outcome = await successor(launcher);
        if (outcome.kind === 'not-upgraded') throw new Error(outcome.reason);
        return outcome.upgraded;
      },
      release: async () => {
        await Promise.all([https.pause(), table.release(lost.stayingOnes()), cacheFiles?.release()]);
      },
      reclaim: () => {
        https.resume();
        cacheFiles?.reclaim();
        return table.reclaim();
      },
      offerListeners: () => workers.offerListeners(join(stateDir, LISTENERS_SOCKET)),
      ports: () => listenedPorts(trafficSettings(live.settings)).map(({ port }) => port),
      closeAdmin: () => {
        table.refuse();
        return admin.close();
      },
      openAdmin,
      leave: (to) => {
        leaving(to);
        void end('handover')
          .then(() => server.whenAnswered())
          .then(handedOver);
      },
    },
    clock,
    log,
  );
  return server;
}

/** How a process ends; `handover`: another one has the table and takes new connections. */
type Ending = 'shutdown' | 'handover';

async function endServing(
  { readiness, health, https, table, workers, live, history, keySets, accessLog, traceExport, cacheFiles }: Components,
  admin: Admin,
  { log, draining }: Pick<ProcessContext, 'log' | 'draining'>,
  ending: Ending,
): Promise<void> {
  const { drainTimeoutMs } = live.settings;
  draining(drainTimeoutMs);
  if (ending === 'shutdown') readiness.drain();
  log.info({ within: drainTimeoutMs }, 'draining');
  health.stop();
  keySets.stop();
  const certificatesSaved = https.stop();
  if (ending === 'handover') table.close();
  await workers.drain(drainTimeoutMs, ending === 'handover' ? 'on-response' : 'now');
  await Promise.all([certificatesSaved, history?.close(), cacheFiles?.close()]);
  await Promise.all([accessLog.end(), traceExport.end()]);
  await admin.close();
  if (ending === 'shutdown') table.close();
  log.info('data plane stopped');
}

function announce({ table, live }: Components, settings: DataplaneSettings, { log }: Runtime): void {
  for (const warning of [...live.warnings, ...exposedDirectories(sensitiveDirectories(settings))]) log.warn(warning);
  for (const advice of tcpMigrationAdvice()) log.info(advice);
  const ports = listenedPorts(trafficSettings(settings));
  const at = settings.bind ?? '*';
  const places = (of: string): string =>
    ports
      .filter(({ flag }) => flag === of)
      .map(({ port }) => `${at}:${port}`)
      .join(' ');
  const https = places('--https-port');
  log.info(
    {
      http: places('--http-port'),
      ...(https !== '' && { https }),
      admin: `${settings.adminTlsCert === null ? '' : 'https://'}${settings.adminListen}`,
      socket: settings.adminSocket,
      workers: settings.workers,
      ...table.counts(),
    },
    'data plane started',
  );
}
