import type { Log } from './log.ts';
import type { LogLevel } from './log-level.ts';

/** A line that is logged elsewhere: another thread has the log. */
export type LogLine = { readonly kind: 'log'; readonly level: LogLevel; readonly fields: object; readonly message: string };

/** A log that passes its lines on. */
export function logInto(take: (line: LogLine) => void): Log {
  const at =
    (level: LogLevel) =>
    (fields: unknown, message?: string): void =>
      take(
        typeof fields === 'string'
          ? { kind: 'log', level, fields: {}, message: fields }
          : { kind: 'log', level, fields: fields as object, message: message ?? '' },
      );
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}
