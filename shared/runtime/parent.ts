/** What a process tells the one that started it, where that listens: a supervisor, or `upgrade`. */
export type ToParent =
  /** It serves. */
  | { readonly kind: 'serving' }
  /** Another process has its place now; it only finishes what it has. */
  | { readonly kind: 'handed-over' }
  /** It can't start, or was held wrong: why, in one line. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Says nothing where nobody listens. */
export function tellParent(message: ToParent): void {
  // A parent that goes away at this very moment needs no answer any more.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

export function isToParent(message: unknown): message is ToParent {
  return typeof message === 'object' && message !== null && 'kind' in message;
}
