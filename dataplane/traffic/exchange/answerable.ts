/** Who loses what it is at when something is thrown while it is served, and nobody else. */
export interface Answerable {
  /** Ends what is torn. Throws nothing. */
  broke(error: unknown): void;
}
