import type { Log, LogLevel } from '../log/log.ts';

/** A log that keeps its lines in memory. */
export function memoryLog(): Log & { readonly lines: { level: LogLevel; fields: object; message: string }[] } {
  const lines: { level: LogLevel; fields: object; message: string }[] = [];
  const at = (level: LogLevel) => (fields: unknown, message?: string) => {
    if (typeof fields === 'string') lines.push({ level, fields: {}, message: fields });
    else lines.push({ level, fields: fields as object, message: message ?? '' });
  };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}
