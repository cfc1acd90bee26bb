/** From the most to the least verbose. Separate from the log, which takes longer to load than most commands run. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
