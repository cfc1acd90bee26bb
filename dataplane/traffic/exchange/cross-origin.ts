import { fieldsIn, withoutFields } from '../codec/http1/fields.ts';

/** What a response says about other origins (Fetch, 3.2.3), which a site with `cors` decides instead of its upstream. */
const DECIDED: ReadonlySet<string> = new Set([
  ...['access-control-allow-origin', 'access-control-allow-credentials', 'access-control-expose-headers'],
  ...['access-control-allow-methods', 'access-control-allow-headers', 'access-control-max-age'],
]);

/** What a site with `cors` adds to a response, as lines. `varies`: it depends on the origin. */
export type CrossOrigin = { readonly lines: string; readonly varies: boolean };

/** The lines of a response with what its site says about other origins. */
export function crossOriginFields(lines: string, { lines: added, varies }: CrossOrigin): string {
  const kept = withoutFields(lines, DECIDED);
  const known = !varies || fieldsIn(kept, 'vary').some((value) => /(?:^|[\s,])(?:\*|origin)(?:$|[\s,])/i.test(value));
  return `${kept}${known ? '' : 'Vary: Origin\r\n'}${added}`;
}
