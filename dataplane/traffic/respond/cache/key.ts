import type { Exchange } from '../../exchange/exchange.ts';
import type { DecidedFields } from './decided-fields.ts';
import type { KeyParts } from './key-parts.ts';

/** What a block adds to the key. */
export type KeyedBlock = {
  /** Distinguishes blocks with conditions; empty for one without. */
  readonly name: string;
  /** The fields that the site sets for the upstream; null for none. */
  readonly decided: DecidedFields | null;
};

/**
 * Everything that decides which response a request gets, apart from Vary: scheme, host and target exactly as sent, since no server has to
 * treat two spellings alike; the changes that the policies of the block have made to this request; the parts that the site has added or
 * left out; and the lines that a trusted proxy vouches for.
 */
export function keyOf(x: Exchange, { name: block, decided }: KeyedBlock, parts: KeyParts | null, vouched = ''): string {
  const target = parts === null ? x.target : parts.targetOf(x.target);
  const isUnchanged = x.upstreamTarget === x.target || x.upstreamTarget === target;
  const sent = isUnchanged ? target : parts === null ? x.upstreamTarget : parts.targetOf(x.upstreamTarget);
  const changedTarget = sent === target ? '' : sent;
  const key = `${x.secure ? 'https' : 'http'} ${x.hostField} ${target}`;
  const names = parts === null ? '' : parts.names;
  const fields = decided === null ? vouched : decided(x.upstreamFields) + vouched;
  if (block === '' && names === '' && changedTarget === '' && fields === '') return key;
  const values = parts === null || names === '' ? '' : `${parts.valuesOf(x.upstreamFields)}\n`;
  return `${key}\n${block}${names}\n${changedTarget}\n${values}${fields}`;
}

/** The key of another target of the same host. */
export const keyOfTarget = (x: Exchange, target: string, parts: KeyParts | null): string =>
  `${x.secure ? 'https' : 'http'} ${x.hostField} ${parts === null ? target : parts.targetOf(target)}`;
