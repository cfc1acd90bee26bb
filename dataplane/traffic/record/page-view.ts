import type { Exchange } from '../exchange/exchange.ts';

/** Destinations that a browser shows as a page (Fetch Standard). */
const PAGES = new Set(['document', 'iframe', 'frame']);
/** The destination of requests by scripts: a page if scripts replace parts of pages, data otherwise. */
const FETCHED = 'empty';
const ASSET_TYPE =
  /^(?:(?:image|font|audio|video)\/|text\/(?:css|javascript|ecmascript)|application\/(?:(?:x-)?javascript|ecmascript|wasm|manifest\+json|(?:x-)?font-))/i;
/** For responses without Content-Type, above all 304 to browsers that do not send Sec-Fetch-Dest. */
const ASSET_NAME =
  /\.(?:css|m?js|wasm|map|webmanifest|png|jpe?g|gif|webp|avif|svg|ico|bmp|woff2?|ttf|otf|eot|mp[34]|m4[av]|webm|og[gv]|wav)$/i;

/**
 * Whether a person's request is a view of a page rather than of a part of one. `path` without query. The destination that a
 * browser states decides first, then the type of the response, or the extension of the path if there is none.
 */
export function isPageView({ method, status, fetchDestination, contentType }: Exchange, path: string): boolean {
  if (method !== 'GET' || (status !== 304 && (status < 200 || status > 299))) return false;
  if (fetchDestination === FETCHED) return contentType !== null && /^text\/html\b/i.test(contentType);
  if (fetchDestination !== null && !PAGES.has(fetchDestination)) return false;
  return !(contentType === null ? ASSET_NAME.test(path) : ASSET_TYPE.test(contentType));
}
