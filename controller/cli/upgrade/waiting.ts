import { NAME } from '../../../shared/name.ts';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import { pidNamespace } from '../../../shared/runtime/process/namespaces.ts';
import { runningInstance } from '../../../shared/runtime/process/running-instance.ts';
import { type InstanceDescription, SUCCESSOR_START_MS } from '../../../shared/wire/takeover.ts';
import { CommandError } from '../command/command.ts';

/** How often it checks which process serves (ms). */
const AGAIN_MS = 200;

/** When it is said what an upgrade waits for, and when a running process that has not answered is said to hang (ms). */
const FIRST_NOTE_MS = 5_000;
const HANGS_MS = 15_000;

/**
 * Says what an upgrade that takes long is waiting for, so that the user can decide whether to wait.
 * @param describe as `runningInstance`. @returns a function that ends it.
 */
export function noteWaiting(clock: Clock, describe: () => Promise<InstanceDescription | null>, say: (line: string) => void): () => void {
  let over = false;
  const ask = async (lineFor: (running: InstanceDescription | null) => string | null): Promise<void> => {
    const line = lineFor(await describe());
    if (line !== null && !over) say(line);
  };
  const cancels = [
    // Nobody may answer for a moment while the new process takes over.
    clock.after(FIRST_NOTE_MS, () => void ask((running) => running && starting(running))),
    clock.after(HANGS_MS, () => void ask((running) => (running === null ? HANGS : null))),
  ];
  return () => {
    over = true;
    for (const cancel of cancels) cancel();
  };
}

const starting = ({ version, pid }: InstanceDescription): string =>
  `waiting for the new process, which may take ${SUCCESSOR_START_MS / 1_000} s to start; ${NAME} ${version} (process ${pid}) serves meanwhile, and the upgrade goes on if you end this command`;

const HANGS =
  'the running process does not answer: it hangs or is suspended; the upgrade begins when it answers, also if you end this command, or restart the service';

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
