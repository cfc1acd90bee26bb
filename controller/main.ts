import { networkInterfaces } from 'node:os';
import { exampleIn } from '../shared/command-examples.ts';
import { NAME, TOKEN_VARIABLE } from '../shared/name.ts';
import { type Clock, systemClock } from '../shared/runtime/clock.ts';
import { helpOf, readFlags, UsageError } from '../shared/runtime/flags.ts';
import { releaseMemoryWhenIdle } from '../shared/runtime/idle-memory.ts';
import { createLog, type Log } from '../shared/runtime/log/log.ts';
import { runningBuild } from '../shared/runtime/process/build.ts';
import { sendToParent } from '../shared/runtime/process/parent.ts';
import { whenOrphaned } from '../shared/runtime/process/supervised.ts';
import { type Random, systemRandom } from '../shared/runtime/random.ts';
import { setV8Flags } from '../shared/runtime/v8-flags.ts';
import { startController } from './controller.ts';
import { CONTROLLER_FLAGS, type ControllerSettings, controllerSettings } from './flags.ts';
import type { Source } from './sources/source.ts';

/** V8 optimizes functions after 400 calls. Of those that read a thousand sites, few are called often enough afterwards to be worth it. */
const V8_FLAGS = ['--invocation-count-for-maglev=10000'];

const nothing = (): void => undefined;

type SourceParts = { readonly clock: Clock; readonly random: Random; readonly log: Log };

async function main(): Promise<void> {
  const flags = readFlags('controller', CONTROLLER_FLAGS, process.argv.slice(2), process.env);
  if (flags.help) {
    process.stdout.write(
      `Usage: ${NAME} controller [flags]\n\nReads the sources of routes and keeps the route tables of the data planes in sync with them.\n\n${helpOf(CONTROLLER_FLAGS)}\n\nIts token for data planes over TCP has no flag: ${TOKEN_VARIABLE}.\n${exampleIn('controller')}`,
    );
    return;
  }
  // A service manager sends it to every process of the service. This one writes to standard output only, and has nothing to reopen.
  process.on('SIGUSR2', nothing);
  // The signal would end a process that does not handle it yet, and the config file is read and watched from the start.
  process.on('SIGHUP', nothing);
  const settings = controllerSettings('controller', flags);
  const log = createLog('controller', settings.logLevel);
  const parts = { clock: systemClock, random: systemRandom, log };
  const sources = await sourcesOf(settings, parts);
  const controller = await startController(settings, { ...parts, sources, token: process.env[TOKEN_VARIABLE] });
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    controller.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('SIGHUP', () => void controller.reload()).off('SIGHUP', nothing);
  sendToParent({ kind: 'serving', version: runningBuild.version });
  whenOrphaned(stop);
  releaseMemoryWhenIdle(systemClock);
  setV8Flags(V8_FLAGS);
}

/** The code of each source is loaded if it is used. */
async function sourcesOf({ config, docker, kubernetes }: ControllerSettings, parts: SourceParts): Promise<Source[]> {
  const sources: Source[] = [];
  if (config !== null) {
    const { createFileSource } = await import('./sources/file/source.ts');
    sources.push(createFileSource({ ...parts, path: config }));
  }
  if (docker !== null) {
    const { createDockerSource } = await import('./sources/docker/source.ts');
    sources.push(createDockerSource({ ...parts, settings: docker }));
  }
  if (kubernetes !== null) {
    const { createKubernetesSource } = await import('./sources/kubernetes/source.ts');
    const { readSingleDirective } = await import('./sources/file/single-directive.ts');
    const pod = process.env.POD_NAME ?? null;
    const interfaces = Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
    sources.push(createKubernetesSource({ ...parts, settings: kubernetes, readDirective: readSingleDirective, pod, interfaces }));
  }
  return sources;
}

main().catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
