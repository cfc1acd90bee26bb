/** Limits that several rooms check. They stand apart from the schemas, which take long to load. */

/** A connection limit above this must be a typo. */
export const MOST_CONNECTIONS = 10_000_000;
/** The longest time that a request may be held for a target (s). */
export const MAX_HOLD_SECS = 300;
