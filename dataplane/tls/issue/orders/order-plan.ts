/** What is planned for a name. */
export type OrderPlan = {
  /** When its certificate will be renewed (ms since 1970); null without one that we renew. */
  readonly renewAt: number | null;
  /** The last failure, and when the next order is placed (ms since 1970); null if the last order did not fail. */
  readonly attempt: { readonly nextTry: number; readonly lastError: string } | null;
  /** The rate limit that others have reached and that its order waits for; null if it does not, or has failed itself. */
  readonly waitsFor: string | null;
};

/** Why a name has no certificate, or not its next one; null if nothing is known to be wrong. */
export const troubleOf = ({ attempt, waitsFor }: OrderPlan): string | null =>
  attempt?.lastError ?? (waitsFor && `its order waits behind others: ${waitsFor}`);

/** The same as the end of a sentence; empty if nothing is wrong. */
export function explainTrouble(plan: OrderPlan): string {
  const { attempt } = plan;
  if (attempt !== null) return `; the last try failed: ${attempt.lastError}, the next is at ${new Date(attempt.nextTry).toISOString()}`;
  const trouble = troubleOf(plan);
  return trouble === null ? '' : `; ${trouble}`;
}
