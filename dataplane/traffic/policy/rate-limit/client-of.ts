import { clientKey } from '../../../ledger/client-key.ts';
import { clientNetwork } from '../../../ledger/client-network.ts';
import { type Key, keyOf } from '../../../ledger/hash.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { queryOf } from '../../exchange/values/query.ts';
import { compileText } from '../../exchange/values/template.ts';
import { compileDoubts, fieldOnce } from './doubts.ts';

/** Which requests are counted together. */
export type ClientOf = (x: Exchange) => Key;

/** Bytes. Longer values are counted by address, so that making one longer is no way around the limit. */
const LONGEST_VALUE = 4_096;

export const byAddress: ClientOf = (x) => clientKey(x.client.address);

/**
 * Requests without the field, or with several, are counted by their address, so that leaving it out is no way around the limit, nor is a
 * made-up value beside the one that the upstream uses.
 */
export function byHeader(name: string): ClientOf {
  const once = fieldOnce(name);
  return (x) => {
    const value = once(x.fields);
    return value === null ? byAddress(x) : keyOfValue(value);
  };
}

/** @param folds whether paths are compared case-insensitively. */
export function byText(text: string, folds: boolean, remainder: (x: EvaluatedRequest) => string): ClientOf {
  const compiled = compileText(Buffer.from(text).toString('latin1'), {
    scope: 'request',
    longest: LONGEST_VALUE,
    unsafe: null,
    remainder,
    // Spellings of one path count together.
    target: (x) => `${folds ? x.path.toLowerCase() : x.path}?${queryOf(x.target)}`,
    encode: (value, { name }) => (ADDRESSES.has(name) ? clientNetwork(value) : value),
  });
  if (compiled.constant !== null) {
    const key = keyOfValue(compiled.constant);
    return () => key;
  }
  const { evaluate } = compiled;
  const isDoubtful = compileDoubts(text);
  return (x) => {
    const value = isDoubtful(x) ? null : evaluate(x, NO_ANSWER);
    return value === null || value === '' ? byAddress(x) : keyOfValue(value);
  };
}

/** The /64 of an IPv6 address counts as one client. */
const ADDRESSES: ReadonlySet<string> = new Set(['http.vars.client_ip', 'http.request.remote.host']);

/** Never the key of an address: a client must not be able to use up the limit of another one by naming its address. */
const keyOfValue = (value: string): Key => keyOf(`value\n${value}`);
