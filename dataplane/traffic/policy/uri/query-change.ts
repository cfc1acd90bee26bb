import type { RouteSpec } from '../../../../shared/route.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { formDecoded } from '../../exchange/values/query.ts';
import { compileText } from '../../exchange/values/template.ts';
import { LONGEST_TARGET } from '../rewrite/rewriting.ts';

type QueryChange = NonNullable<NonNullable<RouteSpec['uri']>[number]['query']>;

/** Compiles a change of one query parameter. The others keep their bytes and their order. */
export function compileQueryChange(
  { name, op, value = '' }: QueryChange,
  remainder: (x: EvaluatedRequest) => string,
): (query: string, x: EvaluatedRequest) => string | null {
  const own = bytes(name);
  const key = component(own);
  const isOwn = (pair: string): boolean => formDecoded(nameOf(pair)) === own;
  const pairsIn = (query: string): string[] => (query === '' ? [] : query.split('&'));
  if (op === 'remove')
    return (query) =>
      pairsIn(query)
        .filter((pair) => !isOwn(pair))
        .join('&');
  if (op === 'rename') {
    const to = component(bytes(value));
    return (query) =>
      pairsIn(query)
        .map((pair) => (isOwn(pair) ? `${to}${pair.slice(nameOf(pair).length)}` : pair))
        .join('&');
  }
  const text = compileText(bytes(value), {
    scope: 'request',
    longest: LONGEST_TARGET,
    unsafe: null,
    remainder,
    target: (x) => x.upstreamTarget,
  });
  return (query, x) => {
    const evaluated = text.constant ?? text.evaluate(x, NO_ANSWER);
    if (evaluated === null) return null;
    const pair = `${key}=${component(evaluated)}`;
    return [...pairsIn(query).filter((other) => op === 'add' || !isOwn(other)), pair].join('&');
  };
}

const nameOf = (pair: string): string => {
  const equals = pair.indexOf('=');
  return equals < 0 ? pair : pair.slice(0, equals);
};

/** One character per byte. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1');

/** Percent-encoded for a query, byte by byte. */
const component = (text: string): string =>
  text.replace(/[^A-Za-z0-9\-._~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
