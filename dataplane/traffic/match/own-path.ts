import { OWN_PATH_PREFIX } from '../../../shared/name.ts';
import { rawPath } from './path.ts';
import { readingsOf } from './readings.ts';
import { judgePattern } from './verdict.ts';

const DOT = 0x2e;
const judge = judgePattern(`${OWN_PATH_PREFIX}*`, false);

/**
 * Whether a path, in its normal form, is one of those that the proxy answers itself, or that someone could take for one, as nobody
 * knows of one that can't be read. Few paths begin with a dot; nothing more is asked of the others.
 */
export function isOwnPath(path: string, target: string): boolean {
  if (path.charCodeAt(1) !== DOT) return false;
  if (path.startsWith(OWN_PATH_PREFIX)) return true;
  const readings = readingsOf(rawPath(target), false);
  return readings === null || (readings !== undefined && judge(readings) !== 'none');
}
