import type { Upgraded } from '../wire/takeover.ts';

/** What a process tells the one that started it, where that listens. */
export type ToParent =
  /** It serves, as this version. */
  | { readonly kind: 'serving'; readonly version: string }
  /** Another process has its place now; it only finishes what it has. */
  | { readonly kind: 'handed-over' }
  /** It can't start, or was used wrongly: why, in one line. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Somebody asks for a successor, started by this launcher. */
  | { readonly kind: 'upgrade'; readonly launcher: string };

/** What became of a successor that was asked for. */
export type UpgradeOutcome =
  | { readonly kind: 'upgraded'; readonly upgraded: Upgraded }
  | { readonly kind: 'not-upgraded'; readonly reason: string };

/** Says nothing where nobody listens. */
export function sendToParent(message: ToParent): void {
  // A parent that goes away at this very moment needs no answer any more.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

export function isToParent(message: unknown): message is ToParent {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

/** Hears the parent for as long as both live; it keeps no process alive. */
export function onParentMessage(heard: (outcome: UpgradeOutcome) => void): void {
  process.on('message', (message) => {
    if (isOutcome(message)) heard(message);
  });
  process.channel?.unref();
}

function isOutcome(message: unknown): message is UpgradeOutcome {
  return isToParent(message) && ['upgraded', 'not-upgraded'].includes(message.kind);
}

export const NO_PARENT: UpgradeOutcome = {
  kind: 'not-upgraded',
  reason: 'nothing is above it that could start another one: start that yourself, with the same flags and --takeover',
};

/** Has the parent start a successor, and waits for what becomes of it. The parent takes one request at a time. */
export function requestSuccessor(launcher: string): Promise<UpgradeOutcome> {
  if (!process.connected) return Promise.resolve(NO_PARENT);
  return new Promise((resolve) => {
    const heard = (message: unknown): void => (isOutcome(message) ? settle(message) : undefined);
    const gone = (): void => settle({ kind: 'not-upgraded', reason: 'the process above it is gone' });
    const settle = (outcome: UpgradeOutcome): void => {
      process.off('message', heard).off('disconnect', gone);
      resolve(outcome);
    };
    process.on('message', heard).on('disconnect', gone);
    process.channel?.unref();
    sendToParent({ kind: 'upgrade', launcher });
  });
}
