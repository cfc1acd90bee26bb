/** Limits that several modules check, separate from the schemas because those take long to load. */

/** A higher connection limit must be a typo. */
export const MOST_CONNECTIONS = 10_000_000;
/** The longest time a request may be held for a target (s). */
export const MAX_HOLD_SECS = 300;

/** The highest weight of a target. */
export const MOST_WEIGHT = 1_000;
