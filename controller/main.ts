import { networkInterfaces } from 'node:os';
import { TOKEN_VARIABLE } from '../shared/api/admin-client.ts';
import { exampleIn } from '../shared/command-examples.ts';
import { NAME } from '../shared/name.ts';
import { systemClock } from '../shared/runtime/clock.ts';
import { helpOf, readFlags, UsageError } from '../shared/runtime/flags.ts';
import { releaseMemoryWhenIdle } from '../shared/runtime/idle-memory.ts';
import { createLog } from '../shared/runtime/log/log.ts';
import { whenOrphaned } from '../shared/runtime/process/supervised.ts';
import { systemRandom } from '../shared/runtime/random.ts';
import { startController } from './controller.ts';
import { CONTROLLER_FLAGS, controllerSettings } from './flags.ts';
import { createDockerSource } from './sources/docker/source.ts';
import { readSingleDirective } from './sources/file/single-directive.ts';
import { createFileSource } from './sources/file/source.ts';
import { createKubernetesSource } from './sources/kubernetes/source.ts';
import type { Source } from './sources/source.ts';

async function main(): Promise<void> {
  const flags = readFlags('controller', CONTROLLER_FLAGS, process.argv.slice(2), process.env);
  if (flags.help) {
    process.stdout.write(
      `Usage: ${NAME} controller [flags]\n\nReads the sources of routes and keeps the route tables of the data planes in sync with them.\n\n${helpOf(CONTROLLER_FLAGS)}\n${exampleIn('controller')}`,
    );
    return;
  }
  // A service manager sends it to every process of the service. This one writes to standard output only, and has nothing to reopen.
  process.on('SIGUSR2', () => undefined);
  const settings = controllerSettings('controller', flags);
  const log = createLog('controller', settings.logLevel);
  const parts = { clock: systemClock, random: systemRandom, log };
  const sources: Source[] = [];
  if (settings.config !== null) sources.push(createFileSource({ ...parts, path: settings.config }));
  if (settings.docker !== null) sources.push(createDockerSource({ ...parts, settings: settings.docker }));
  if (settings.kubernetes !== null)
    sources.push(
      createKubernetesSource({
        ...parts,
        settings: settings.kubernetes,
        readDirective: readSingleDirective,
        pod: process.env.POD_NAME ?? null,
        interfaces: Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address)),
      }),
    );
  const controller = await startController(settings, { ...parts, sources, token: process.env[TOKEN_VARIABLE] });
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    controller.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('SIGHUP', () => void controller.reload());
  whenOrphaned(stop);
  releaseMemoryWhenIdle(systemClock);
}

main().catch((error: unknown) => {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
});
