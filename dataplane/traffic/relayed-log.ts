import type { Log, LogLevel } from '../../shared/runtime/log.ts';
import type { FromWorker } from './protocol.ts';

/** Levels from the least important on, as `--log-level` has them. */
const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'fatal'];

/** A log that the main thread writes: what stands below `least` is not even sent. */
export function relayedLog(least: LogLevel, tell: (message: FromWorker) => void): Log {
  const at = (level: LogLevel) => (fields: unknown, message?: string) => {
    if (ORDER.indexOf(level) < ORDER.indexOf(least)) return;
    if (typeof fields === 'string') tell({ kind: 'log', level, fields: {}, message: fields });
    else tell({ kind: 'log', level, fields: fields as object, message: message ?? '' });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}
