import { formatAdminAddress } from '../shared/api/admin-client.ts';
import { controllerSocketBeside } from '../shared/api/controller-socket.ts';
import { NAME } from '../shared/name.ts';
import { runningBuild } from '../shared/runtime/build.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import type { Log } from '../shared/runtime/log.ts';
import type { Random } from '../shared/runtime/random.ts';
import type { ControllerSettings } from './flags.ts';
import { Pusher } from './push/pusher.ts';
import { createReconciler } from './reconcile/reconciler.ts';
import { keepRunning } from './reconcile/source-task.ts';
import { createEngine } from './sources/docker/engine/engine.ts';
import type { DockerSettings } from './sources/docker/flags.ts';
import { translate } from './sources/docker/routes/translate.ts';
import { createDockerSource, type DockerSource } from './sources/docker/source.ts';
import { createFileSource } from './sources/file/source.ts';
import type { Snapshot } from './sources/source.ts';
import { createControllerMetrics } from './status/metrics.ts';
import { createPushRecorder } from './status/push-recorder.ts';
import { Report } from './status/report.ts';
import { listenStatus, type StatusServer } from './status/server.ts';

export type Controller = {
  /** Where the status pages answer: `HOST:PORT`. */
  readonly statusAddress: string;
  /** Re-reads the config file and applies it. @returns its errors, none when it is good. */
  reload(): Promise<readonly string[]>;
  stop(): Promise<void>;
};

/** Sources → desired → reconcile → push, and status back. @throws UsageError when `--listen` can't be had. */
export async function startController(
  settings: ControllerSettings,
  { clock, random, log, token }: { clock: Clock; random: Random; log: Log; token: string | undefined },
): Promise<Controller> {
  const stopping = new AbortController();
  const startedAt = clock.now();

  const file = settings.config === null ? null : createFileSource({ path: settings.config, clock, log });
  const docker = settings.docker && containersOf(settings.docker, { clock, random, log });
  const names = [file, docker].flatMap((source) => (source ? [source.name] : []));
  const report = new Report(
    clock,
    { controller: settings.id, epoch: startedAt, version: runningBuild.version, sources: names },
    settings.dataplanes.map(formatAdminAddress),
    () => docker?.readings() ?? [],
  );
  const status = await listen(settings, { report, token, clock, log, uptimeSecs: () => Math.floor((clock.now() - startedAt) / 1_000) });

  const reconciler = createReconciler({
    names,
    clock,
    log,
    relist: (source) => {
      if (source === file?.name) void file.reload().then((snapshot) => hear(snapshot, false));
      else docker?.relist();
    },
    changed: (truth) => {
      report.built(truth);
      for (const pusher of pushers) pusher.wake();
    },
  });

  const hear = (snapshot: Snapshot, asked: boolean): readonly string[] => {
    const errors = snapshot.kind === 'failed' ? snapshot.errors : [];
    report.reloaded(errors);
    if (asked) reconciler.takeConfirmed(snapshot);
    else reconciler.take(snapshot);
    return errors;
  };
  const reload = async () => {
    docker?.relist();
    if (!file) return [];
    const errors = hear(await file.reload(), true);
    if (errors.length > 0)
      log.error({ config: settings.config, errors: errors.slice(0, 20) }, 'the reload failed; what the file said before stays');
    else await reconciler.settled(file.name);
    return errors;
  };

  const pushers = settings.dataplanes.map(
    (address) =>
      new Pusher({
        address,
        token,
        clock,
        random,
        identity: { controller: settings.id, epoch: startedAt, reload: file !== null },
        truth: () => reconciler.truth(),
        reload,
        watch: createPushRecorder(formatAdminAddress(address), report, log, (addresses) =>
          docker?.heard(formatAdminAddress(address), addresses),
        ),
      }),
  );
  if (docker) reconciler.greet();

  const keeping = { clock, random, log, signal: stopping.signal };
  const tasks = [
    ...(file ? [keepRunning(file, (snapshot) => hear(snapshot, false), keeping)] : []),
    ...(docker ? [keepRunning(docker, reconciler.take, keeping)] : []),
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

function containersOf(settings: DockerSettings, parts: { clock: Clock; random: Random; log: Log }): DockerSource {
  return createDockerSource({ ...parts, settings, engine: createEngine(settings.engine, parts.clock), translate });
}

type Pages = Pick<Parameters<typeof listenStatus>[0], 'report' | 'token' | 'clock' | 'log' | 'uptimeSecs'>;

async function listen({ listen: { host, port }, dataplanes }: ControllerSettings, pages: Pages): Promise<StatusServer> {
  const sockets = dataplanes.flatMap((address) => (address.kind === 'unix' ? [controllerSocketBeside(address.path)] : []));
  try {
    return await listenStatus({ ...pages, host, port, sockets, metrics: createControllerMetrics(pages.report) });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'something else listens there' : message;
    throw new UsageError(`${NAME} controller: cannot listen on ${host}:${port}: ${why}; name another address with --listen HOST:PORT`);
  }
}
