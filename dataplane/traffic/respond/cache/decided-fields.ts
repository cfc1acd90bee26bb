import { foldedName } from '../../codec/http1/field-names.ts';

/** The lines of a request's fields whose values the site may have decided, one after the other; empty if there are none. */
export type DecidedFields = (fields: string) => string;

/**
 * Compiles the names of fields that a site sets for its upstream. Their values are a part of the key, whether the site or the client
 * has written them: a client that sends a line as the site would write it for others must not get its response stored for those without it.
 * Upstreams that turn names into variables take `X_Device` for `X-Device`, so all spellings count. null without names.
 */
export function compileDecided(names: readonly string[]): DecidedFields | null {
  if (names.length === 0) return null;
  const folded = new Set(names.map(foldedName));
  return (fields) => {
    let decided = '';
    for (let from = 0; from < fields.length; ) {
      const end = fields.indexOf('\r\n', from) + 2;
      if (folded.has(foldedName(fields.slice(from, fields.indexOf(':', from))))) decided += fields.slice(from, end);
      from = end;
    }
    return decided;
  };
}
