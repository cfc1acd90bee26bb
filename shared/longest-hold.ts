/** Longest time that a request may be told to wait for a target (s). By itself, so that checking a file loads no schema. */
export const MAX_HOLD_SECS = 300;
