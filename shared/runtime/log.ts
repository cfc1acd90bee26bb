import { type Logger, pino } from 'pino';
import type { LogLevel } from './log-level.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;
export type { LogLevel };

/**
 * One JSON object per line on stdout, written synchronously so that a crashing process has logged why.
 * `process` names the writer (`dataplane`, `worker-1`, `controller`).
 */
export function createLog(process: string, level: LogLevel): Log {
  return pino(
    { base: { process }, level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    pino.destination({ fd: 1, sync: true }),
  );
}
