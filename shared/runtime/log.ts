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

/** A log for tests and dry runs that keeps its lines in memory. */
export function memoryLog(): Log & { readonly lines: { level: LogLevel; fields: object; message: string }[] } {
  const lines: { level: LogLevel; fields: object; message: string }[] = [];
  const at = (level: LogLevel) => (fields: unknown, message?: string) => {
    if (typeof fields === 'string') lines.push({ level, fields: {}, message: fields });
    else lines.push({ level, fields: fields as object, message: message ?? '' });
  };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}
