import { formatAdminAddress } from '../shared/api/admin-address.ts';
import { controllerSocketBeside } from '../shared/api/controller-socket.ts';
import { NAME } from '../shared/name.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import { loadedOnce } from '../shared/runtime/loaded-once.ts';
import type { Log } from '../shared/runtime/log/log.ts';
import { runningBuild } from '../shared/runtime/process/build.ts';
import { inUse } from '../shared/runtime/process/port-holder.ts';
import type { Random } from '../shared/runtime/random.ts';
import type { ControllerSettings } from './flags.ts';
import { type PushEvent, Pusher } from './push/pusher.ts';
import { Reached } from './push/reached.ts';
import { createReconciler, type Reconciler } from './reconcile/reconciler.ts';
import { ServedSnapshots } from './reconcile/served.ts';
import { keepRunning } from './reconcile/source-task.ts';
import type { Snapshot, Source } from './sources/source.ts';
import { createPushRecorder } from './status/push-recorder.ts';
import { Report } from './status/report.ts';
import { listenStatus, type StatusServer } from './status/server.ts';

export type Controller = {
  /** Where the status pages are served: `HOST:PORT`. */
  readonly statusAddress: string;
  /** Lists every source again. @returns the errors of the sources that were reloaded; none if their content is applied. */
  reload(): Promise<readonly string[]>;
  stop(): Promise<void>;
};

type ControllerTools = {
  readonly sources: readonly Source[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly token: string | undefined;
};

/** Sources → desired → reconcile → push, and status. @throws UsageError if `--listen` is not available. */
export async function startController(
  settings: ControllerSettings,
  { sources, clock, random, log, token }: ControllerTools,
): Promise<Controller> {
  const stopping = new AbortController();
  const startedAt = clock.now();

  const report = new Report(
    clock,
    { controller: settings.id, epoch: startedAt, version: runningBuild.version, sources: sources.map(({ name }) => name) },
    settings.dataplanes.map(formatAdminAddress),
    () => sources.flatMap((source) => source.readings()),
  );
  const status = await listen(settings, { report, token, clock, log, uptimeSecs: () => Math.floor((clock.now() - startedAt) / 1_000) });

  const served = new ServedSnapshots(sources);
  const reconciler = createReconciler({
    sources,
    clock,
    log,
    built: (state, snapshots) => served.built(state, snapshots),
    changed: (state) => {
      report.built(state);
      for (const pusher of pushers) pusher.wake();
    },
  });

  const intake = { reconciler, report };
  const reload = async () => (await Promise.all(sources.map((source) => reloadOne(source, intake)))).flat();

  const conditions = {
    get version() {
      return report.objects.version;
    },
    list: () => report.objects.routes(),
  };
  const identity = { controller: settings.id, epoch: startedAt, reload: sources.some((source) => source.reload) };
  const reached = new Reached(settings.dataplanes.map(formatAdminAddress));
  const pushers = settings.dataplanes.map((address) => {
    const dataplane = formatAdminAddress(address);
    const record = createPushRecorder(dataplane, report, log);
    const watch = (event: PushEvent) => {
      record(event);
      noteServed(served, dataplane, event);
      // The conditions of routes depend on the health of their targets.
      if (event.kind === 'upstream') for (const pusher of pushers) pusher.wake();
      if (event.kind === 'applied' || event.kind === 'upstream') for (const source of sources) source.notify?.({ ...event, dataplane });
    };
    return new Pusher({ address, token, clock, random, identity, state: () => reconciler.state(), reload, watch, conditions, reached });
  });
  if (sources.some(({ awaitsDataplane }) => awaitsDataplane)) reconciler.startEmpty();

  const keeping = { clock, random, log, signal: stopping.signal };
  const tasks = [
    ...sources.map((source) => keepRunning(source, (snapshot) => accept(source, snapshot, intake), keeping)),
    ...pushers.map((pusher) => pusher.run(stopping.signal)),
  ];
  log.info({ config: settings.config, dataplanes: pushers.map(({ address }) => address), status: status.address }, 'controller started');
  return {
    statusAddress: status.address,
    reload,
    stop: async () => {
      stopping.abort();
      reconciler.stop();
      await Promise.all([...tasks, status.close()]);
    },
  };
}

/** Where the snapshots of sources go. */
type Intake = { readonly reconciler: Reconciler; readonly report: Report };

function accept(source: Source, snapshot: Snapshot, { reconciler, report }: Intake): void {
  if (source.reload) report.reloaded(errorsOf(snapshot));
  reconciler.accept(snapshot);
}

/** @returns the errors of a source that can be reloaded; none if its content is in the desired state. Others are listed again soon. */
async function reloadOne(source: Source, { reconciler, report }: Intake): Promise<readonly string[]> {
  if (!source.reload) {
    source.relist();
    return [];
  }
  const snapshot = await source.reload();
  const errors = errorsOf(snapshot);
  report.reloaded(errors);
  reconciler.acceptConfirmed(snapshot);
  if (errors.length === 0) await reconciler.settled(source.name);
  return errors;
}

const errorsOf = (snapshot: Snapshot): readonly string[] => (snapshot.kind === 'failed' ? snapshot.errors : []);

function noteServed(served: ServedSnapshots, dataplane: string, event: PushEvent): void {
  if (event.kind === 'applied') served.applied(dataplane, event);
  else if (event.kind === 'unchanged') served.unchanged(dataplane, event.state);
  else if (event.kind === 'disconnected' || event.kind === 'duplicate') served.disconnected(dataplane);
}

type Pages = Pick<Parameters<typeof listenStatus>[0], 'report' | 'token' | 'clock' | 'log' | 'uptimeSecs'>;

async function listen({ listen: { host, port }, dataplanes }: ControllerSettings, pages: Pages): Promise<StatusServer> {
  // The library is loaded for the first scrape, which many installations never have.
  const loaded = loadedOnce(async () => (await import('./status/metrics.ts')).createControllerMetrics(pages.report));
  const metrics = async (): Promise<string> => (await loaded()).text();
  const sockets = dataplanes.flatMap((address) => (address.kind === 'unix' ? [controllerSocketBeside(address.path)] : []));
  try {
    return await listenStatus({ ...pages, host, port, sockets, metrics });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? inUse(port) : message;
    throw new UsageError(`${NAME} controller: cannot listen on ${host}:${port}: ${why}; choose another address with --listen HOST:PORT`);
  }
}
