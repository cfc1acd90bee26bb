/** The owner of some work: an exception thrown during that work ends this owner and no other. */
export interface FaultOwner {
  /** Ends what the exception has left inconsistent. Throws nothing. */
  onFault(error: unknown): void;
}
