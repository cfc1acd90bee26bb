import type { Upgraded, VersionOf } from '../../wire/takeover.ts';
import { AWAITS_START_VARIABLE } from './supervised.ts';

/** How the two processes of `run` are started. The parent passes it on without knowing what is in it. */
export type RunPlan = {
  /** The flags of each. */
  readonly dataplane: readonly string[];
  readonly controller: readonly string[];
  /** Added to the environment of the data plane. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether the data plane takes over from another one. */
  readonly takeover: boolean;
};

/** How often a data plane says that its main thread runs (ms). */
export const ALIVE_MS = 10_000;

/** Messages from a process to its parent. */
export type ToParent =
  /** It serves, with this version: a data plane its sites, a controller its signals. */
  | { readonly kind: 'serving'; readonly version: string }
  /** Its main thread runs, which it says every `ALIVE_MS`. */
  | { readonly kind: 'alive' }
  /** Another process has taken over; it is draining. Older versions don't say which one. */
  | { readonly kind: 'handed-over'; readonly successor?: VersionOf }
  /**
   * It was told to stop, has handed over, or can't take over, and finishes its requests: with `within`, it closes what is open after so
   * many milliseconds, and ends.
   */
  | { readonly kind: 'draining'; readonly within?: number }
  /** It has planned the processes of `run`, and ends. */
  | { readonly kind: 'plan'; readonly plan: RunPlan }
  /** It can't start, with the reason in one line. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** An upgrade was requested: start a successor with this launcher. */
  | { readonly kind: 'upgrade'; readonly launcher: string };

/** The outcome of a requested upgrade. */
export type UpgradeOutcome =
  | { readonly kind: 'upgraded'; readonly upgraded: Upgraded }
  | { readonly kind: 'not-upgraded'; readonly reason: string };

/** How a data plane that has loaded its code is to start. */
type Start = {
  readonly kind: 'start';
  readonly flags: readonly string[];
  /** Added to its environment. */
  readonly env: Readonly<Record<string, string>>;
};

/** Messages from the parent. */
export type ToChild = UpgradeOutcome | Start;

/** Does nothing without a parent. */
export function sendToParent(message: ToParent): void {
  // The parent may exit at this moment; then the message is not needed.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

export function isToParent(message: unknown): message is ToParent {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

function isOutcome(message: unknown): message is UpgradeOutcome {
  return isToParent(message) && ['upgraded', 'not-upgraded'].includes(message.kind);
}

/**
 * The flags of this process: its arguments, or what its parent sends when it has planned them, together with variables that are added to
 * the environment. Ends the process if the parent ends before it has sent them.
 */
export async function plannedFlags(): Promise<readonly string[]> {
  if (process.env[AWAITS_START_VARIABLE] !== '1') return process.argv.slice(2);
  delete process.env[AWAITS_START_VARIABLE];
  const { flags, env } = await startMessage();
  Object.assign(process.env, env);
  return flags;
}

/** Node keeps messages that arrive before there is a listener. */
function startMessage(): Promise<Start> {
  return new Promise((resolve) => {
    const gone = (): never => process.exit(0);
    const listener = (message: unknown): void => {
      if (!isStart(message)) return;
      process.off('message', listener).off('disconnect', gone);
      resolve(message);
    };
    process.on('message', listener).on('disconnect', gone);
    if (!process.connected) gone();
  });
}

function isStart(message: unknown): message is Start {
  return typeof message === 'object' && message !== null && 'kind' in message && message.kind === 'start';
}

const NO_PARENT: UpgradeOutcome = {
  kind: 'not-upgraded',
  reason: 'it has no parent process to start a successor; start one yourself with the same flags and --takeover',
};

/** Asks the parent to start a successor and waits for the outcome. The parent handles one request at a time. */
export function requestSuccessor(launcher: string): Promise<UpgradeOutcome> {
  if (!process.connected) return Promise.resolve(NO_PARENT);
  return new Promise((resolve) => {
    const listener = (message: unknown): void => (isOutcome(message) ? settle(message) : undefined);
    const gone = (): void => settle({ kind: 'not-upgraded', reason: 'its parent process is gone' });
    const settle = (outcome: UpgradeOutcome): void => {
      process.off('message', listener).off('disconnect', gone);
      resolve(outcome);
    };
    process.on('message', listener).on('disconnect', gone);
    process.channel?.unref();
    sendToParent({ kind: 'upgrade', launcher });
  });
}
