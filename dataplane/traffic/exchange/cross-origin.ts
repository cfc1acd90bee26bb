import { fieldsIn, withoutFields } from '../codec/http1/kept-lines.ts';

/** The CORS fields of a response (Fetch, 3.2.3), which a site with `cors` sets instead of its upstream. */
const DECIDED: ReadonlySet<string> = new Set([
  ...['access-control-allow-origin', 'access-control-allow-credentials', 'access-control-expose-headers'],
  ...['access-control-allow-methods', 'access-control-allow-headers', 'access-control-max-age'],
]);

/** The lines that a site with `cors` adds to a response. `varies`: they depend on the origin. */
export type CrossOrigin = { readonly lines: string; readonly varies: boolean };

/** The lines of a response with the CORS fields of its site. */
export function crossOriginFields(lines: string, { lines: added, varies }: CrossOrigin): string {
  const kept = withoutFields(lines, DECIDED);
  const known = !varies || fieldsIn(kept, 'vary').some((value) => /(?:^|[\s,])(?:\*|origin)(?:$|[\s,])/i.test(value));
  return `${kept}${known ? '' : 'Vary: Origin\r\n'}${added}`;
}
