/** How long an address may be absent from the answers of the resolver (ms). Many names have some of their addresses in each answer. */
const ABSENT_MS = 60_000;

/** The addresses that the name of a target has had lately. */
export class LastAddresses {
  /** When each was last in the newest answer, in ms on the monotonic clock. */
  private readonly seenAt = new Map<string, number>();
  private isComplete = true;

  /** `newest`: the last answer of the resolver, which stays in use while it fails. Called periodically, with ms on the monotonic clock. */
  note(newest: readonly string[], now: number): void {
    for (const address of newest) this.seenAt.set(address, now);
    for (const [address, at] of this.seenAt)
      if (now - at >= ABSENT_MS) {
        this.seenAt.delete(address);
        this.isComplete = false;
      }
  }

  /** Whether all that it has ever had are still there. */
  get haveStayed(): boolean {
    return this.isComplete;
  }

  has(address: string): boolean {
    return this.seenAt.has(address);
  }
}
