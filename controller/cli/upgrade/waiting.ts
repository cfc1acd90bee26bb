import { NAME } from '../../../shared/name.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import { pidNamespace } from '../../../shared/runtime/process/namespaces.ts';
import { runningInstance } from '../../../shared/runtime/process/running-instance.ts';
import { type InstanceDescription, SUCCESSOR_START_MS } from '../../../shared/wire/takeover.ts';
import { CommandError } from '../command/command.ts';

/** How often it checks which process serves (ms). */
const AGAIN_MS = 200;

/** Waits until the process that serves with a state directory belongs to this container. @throws CommandError after a minute. */
export async function waitForOurs(stateDir: string, clock: Clock, ours = pidNamespace()): Promise<InstanceDescription> {
  const until = clock.monotonic() + SUCCESSOR_START_MS;
  for (;;) {
    const serves = await runningInstance(stateDir);
    if (serves !== null && serves.processes === ours) return serves;
    if (clock.monotonic() >= until) throw new CommandError(`after ${SUCCESSOR_START_MS / 1_000} s ${whoElse(serves)}`);
    await sleep(clock, AGAIN_MS);
  }
}

const whoElse = (serves: InstanceDescription | null): string =>
  serves === null ? 'no process serves with this state directory' : `${NAME} ${serves.version} of another container still serves`;
