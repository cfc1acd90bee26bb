/** A set of keys is not fetched again this soon, however many tokens name keys that it does not have (ms). */
const MIN_AGE_MS = 10_000;

/** Whether a set was fetched too recently to be fetched again. Both times in ms since 1970: the clock may have been set back in between. */
export const wasJustFetched = (triedAt: number, now: number): boolean => triedAt <= now && now - triedAt < MIN_AGE_MS;
