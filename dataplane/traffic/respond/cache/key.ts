import type { Exchange } from '../../exchange/exchange.ts';
import type { KeyParts } from './key-parts.ts';

/**
 * What decides which response a request gets, apart from Vary: scheme, host and target exactly as sent, since no server has to treat two
 * spellings alike; what the policies of the block have changed for this request; and what the site has added or left out. `block` tells
 * blocks with conditions apart.
 */
export function keyOf(x: Exchange, block: string, parts: KeyParts | null): string {
  const target = parts === null ? x.target : parts.targetOf(x.target);
  const isUnchanged = x.upstreamTarget === x.target || x.upstreamTarget === target;
  const sent = isUnchanged ? target : parts === null ? x.upstreamTarget : parts.targetOf(x.upstreamTarget);
  const changedTarget = sent === target ? '' : sent;
  const key = `${x.secure ? 'https' : 'http'} ${x.hostField} ${target}`;
  const names = parts === null ? '' : parts.names;
  const changed = x.upstreamFields === x.fields ? '' : linesAdded(x.upstreamFields, x.fields);
  if (block === '' && names === '' && changedTarget === '' && changed === '') return key;
  const values = parts === null || names === '' ? '' : `${parts.valuesOf(x.upstreamFields)}\n`;
  return `${key}\n${block}${names}\n${changedTarget}\n${values}${changed}`;
}

/** The key of another target of the same host. */
export const keyOfTarget = (x: Exchange, target: string, parts: KeyParts | null): string =>
  `${x.secure ? 'https' : 'http'} ${x.hostField} ${parts === null ? target : parts.targetOf(target)}`;

function linesAdded(fields: string, before: string): string {
  const known = new Set(before.split('\r\n'));
  return fields
    .split('\r\n')
    .filter((line) => !known.has(line))
    .join('\n');
}
