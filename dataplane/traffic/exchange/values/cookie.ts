import { fieldsIn } from '../../codec/http1/kept-lines.ts';

/** The first cookie of a name in these fields, as it was sent; null if there is none. */
export function cookieIn(fields: string, name: string): string | null {
  for (const line of fieldsIn(fields, 'cookie'))
    for (const pair of line.split(';')) {
      const equals = pair.indexOf('=');
      if (equals >= 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
    }
  return null;
}
