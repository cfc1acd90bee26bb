/** Clocks are corrected by less again and again (ms). */
const SLACK_MS = 60_000;

/** Whether the clock has been set back since a response was received, so that its age is unknown. Times in ms since 1970. */
export const wasSetBack = (receivedAt: number, now: number): boolean => receivedAt > now + SLACK_MS;
