import { type Logger, pino } from 'pino';
import { systemClock } from '../clock.ts';
import { openStdout } from '../process/stdout.ts';
import type { LogLevel } from './log-level.ts';
import { LogStream } from './log-stream.ts';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'>;
export type { LogLevel };

/**
 * One JSON object per line on stdout, written synchronously so that a crashing process has logged why, but never waiting for a reader.
 * `name` is the writer (`dataplane`, `controller`). Call it once: it opens standard output and flushes it when the process ends.
 */
export function createLog(name: string, level: LogLevel): Log {
  const stream = new LogStream(openStdout(), {
    clock: systemClock,
    pause,
    lost: (lines) => log.warn({ lost: lines }, 'log lines were lost because their reader was too slow'),
  });
  const log = pino(
    { base: { process: name }, level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    stream,
  );
  process.on('exit', () => stream.flushSync());
  return log;
}

const pause = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
