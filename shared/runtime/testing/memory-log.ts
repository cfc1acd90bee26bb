import type { Log } from '../log/log.ts';
import { type LogLine, logInto } from '../log/log-line.ts';

/** A log that keeps its lines in memory. */
export function memoryLog(): Log & { readonly lines: Omit<LogLine, 'kind'>[] } {
  const lines: Omit<LogLine, 'kind'>[] = [];
  return { lines, ...logInto(({ level, fields, message }) => lines.push({ level, fields, message })) };
}
