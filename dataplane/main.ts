import { DISK_OPERATIONS_PER_WORKER } from '../shared/limits.ts';
import { TOKEN_VARIABLE, VIEW_TOKEN_VARIABLE } from '../shared/name.ts';
import { systemClock } from '../shared/runtime/clock.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import { releaseMemoryWhenIdle } from '../shared/runtime/idle-memory.ts';
import { createLog } from '../shared/runtime/log/log.ts';
import { runningBuild } from '../shared/runtime/process/build.ts';
import { ALIVE_MS, plannedFlags, requestSuccessor, sendToParent } from '../shared/runtime/process/parent.ts';
import { HANDED_OVER_EXIT, isSupervised, whenOrphaned } from '../shared/runtime/process/supervised.ts';
import { systemRandom } from '../shared/runtime/random.ts';
import { setV8Flags } from '../shared/runtime/v8-flags.ts';
import { type Dataplane, startDataplane } from './dataplane.ts';
import { COMMAND, dataplaneHelp, readSettings } from './settings/settings.ts';
import { TRAFFIC_FLAGS } from './v8-flags.ts';

const nothing = (): void => undefined;

/** Threads of the pool for names, passwords and compression, besides those that files may occupy: a disk that hangs must not delay them. */
const OTHER_POOL_THREADS = 4;

async function main(): Promise<void> {
  // Logs may be rotated and config files changed at any time, and the signal would end a process that does not handle it.
  let renamed = false;
  const note = (): void => {
    renamed = true;
  };
  process.on('SIGUSR2', note).on('SIGHUP', nothing);
  const settings = readSettings(await plannedFlags(), process.env);
  if (settings.help) return void process.stdout.write(dataplaneHelp());
  // Node reads it when the pool is first used.
  process.env.UV_THREADPOOL_SIZE ??= String(OTHER_POOL_THREADS + DISK_OPERATIONS_PER_WORKER * settings.workers);
  const log = createLog(COMMAND, settings.logLevel);
  if (settings.origins.otlpEndpoint === 'default' && (process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? '') !== '')
    log.info('OTEL_EXPORTER_OTLP_ENDPOINT is not used: --otlp-endpoint enables tracing');
  let draining = false;
  const told = Promise.withResolvers<void>();
  const stop = (): void => {
    if (draining) process.exit(1);
    draining = true;
    told.resolve();
    const drain = ({ drain }: Dataplane): Promise<void> => drain().then(() => process.exit(0));
    // If it fails to start, or has given back what it took over, the process ends with the reason.
    void started.then(drain, nothing);
  };
  const started = startDataplane(settings, {
    clock: systemClock,
    random: systemRandom,
    log,
    token: process.env[TOKEN_VARIABLE],
    viewToken: process.env[VIEW_TOKEN_VARIABLE],
    successor: requestSuccessor,
    stopped: told.promise,
    committed: () => {
      // Without any handler, even for a moment, the signal would end the process.
      for (const signal of ['SIGTERM', 'SIGINT']) if (process.listenerCount(signal, stop) === 0) process.on(signal, stop);
    },
    leaving: (successor) => sendToParent({ kind: 'handed-over', successor }),
    draining: (within) => sendToParent({ kind: 'draining', ...(within !== undefined && { within }) }),
    handedOver: () => process.exit(isSupervised() ? HANDED_OVER_EXIT : 0),
  });
  // Nothing else keeps the process alive between two attempts to start workers.
  const starting = setInterval(nothing, 2 ** 31 - 1);
  const dataplane = await started;
  clearInterval(starting);
  process.on('SIGHUP', () => dataplane.reload()).off('SIGHUP', nothing);
  process.on('SIGUSR2', () => dataplane.reopenLogs()).off('SIGUSR2', note);
  // Its workers may have written before the process had started.
  if (renamed) dataplane.reopenLogs();
  whenOrphaned(stop);
  releaseMemoryWhenIdle(systemClock);
  setV8Flags(TRAFFIC_FLAGS);
  sendToParent({ kind: 'serving', version: runningBuild.version });
  systemClock.every(ALIVE_MS, () => sendToParent({ kind: 'alive' }));
}

main().catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  sendToParent({ kind: 'failed', reason: error.message });
  process.exit(error.exitCode);
});
