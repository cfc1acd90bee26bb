import { OWN_PATH_PREFIX } from '../../../shared/name.ts';
import { rawPath } from './path.ts';
import { readingsOf } from './readings.ts';
import { evaluatorForPattern } from './verdict.ts';

const DOT = 0x2e;
const evaluate = evaluatorForPattern(`${OWN_PATH_PREFIX}*`, false);

/**
 * Whether a path, in its normal form, is one that the proxy answers itself, or one that an upstream could read as such. A path that can't
 * be interpreted counts as one. Few paths begin with a dot, and the others need no further check.
 */
export function isOwnPath(path: string, target: string): boolean {
  if (path.charCodeAt(1) !== DOT) return false;
  if (path.startsWith(OWN_PATH_PREFIX)) return true;
  const readings = readingsOf(rawPath(target), false);
  return readings === null || (readings !== undefined && evaluate(readings) !== 'none');
}
