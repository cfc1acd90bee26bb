import type { Exchange } from '../../exchange/exchange.ts';

/**
 * What decides which response a request gets, apart from Vary: scheme, host and target exactly as sent, since no server has to treat two
 * spellings alike; and what the policies of the block have changed for this request. `block` tells blocks with conditions apart.
 */
export function keyOf(x: Exchange, block: string): string {
  const key = `${x.secure ? 'https' : 'http'} ${x.hostField} ${x.target}`;
  if (block === '' && x.upstreamTarget === x.target && x.upstreamFields === x.fields) return key;
  const changed = x.upstreamFields === x.fields ? '' : linesAdded(x.upstreamFields, x.fields);
  return `${key}\n${block}\n${x.upstreamTarget === x.target ? '' : x.upstreamTarget}\n${changed}`;
}

/** The key of another target of the same host. */
export const keyOfTarget = (x: Exchange, target: string): string => `${x.secure ? 'https' : 'http'} ${x.hostField} ${target}`;

function linesAdded(fields: string, before: string): string {
  const known = new Set(before.split('\r\n'));
  return fields
    .split('\r\n')
    .filter((line) => !known.has(line))
    .join('\n');
}
