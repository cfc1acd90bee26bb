import type { RouteSpec } from '../../../../shared/route.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';

type TokenSource = NonNullable<RouteSpec['jwt']>['from'][number];

const BEARER = /^bearer +(\S+)$/i;

/** Every token of a request, in any of the places. */
export const tokensIn = (x: Exchange, places: readonly TokenSource[]): string[] =>
  places.flatMap(({ kind, name = '' }) => {
    if (kind === 'header') return bearers(x.fields);
    return kind === 'cookie' ? cookies(x.fields, name) : parameters(x.target, name);
  });

/** With two Authorization fields, an upstream might use the other one, so both count. */
function bearers(fields: string): string[] {
  const values = fieldsIn(fields, 'authorization');
  return values.length > 1 ? values : values.flatMap((value) => BEARER.exec(value)?.[1] ?? []);
}

/** Most servers trim the names of cookies, and would find `name =`, too. */
const cookies = (fields: string, name: string): string[] =>
  fieldsIn(fields, 'cookie')
    .flatMap((value) => value.split(';'))
    .map((pair) => ({ pair, equals: pair.indexOf('=') }))
    .filter(({ pair, equals }) => pair.slice(0, Math.max(0, equals)).trim() === name)
    .map(({ pair, equals }) => pair.slice(equals + 1).trim());

function parameters(target: string, name: string): string[] {
  const question = target.indexOf('?');
  return question < 0 ? [] : new URLSearchParams(target.slice(question + 1)).getAll(name);
}
