/** What the dashboard requests from the Admin API. Everything else is refused, so that the browser can read no more than the page shows. */
const PATHS: ReadonlySet<string> = new Set([
  '/dashboard/',
  '/alerts',
  '/analytics',
  '/certificates',
  '/events',
  '/explain',
  '/history',
  '/routes',
  '/settings',
  '/status',
  '/upstreams',
]);
/** The analytics of one domain, written with the characters that encodeURIComponent can return. */
const ANALYTICS_OF_DOMAIN = /^\/analytics\/([A-Za-z0-9._~!'()*%-]+)(?:\/history)?$/;

/** Whether a path, as it was sent and without its query, is one that the dashboard requests. */
export function isForwarded(path: string): boolean {
  if (PATHS.has(path)) return true;
  const segment = ANALYTICS_OF_DOMAIN.exec(path)?.[1];
  return segment !== undefined && isOneSegment(segment);
}

/** Whether a segment is still a single one after decoding, even for a reader that decodes the path before it splits it. */
function isOneSegment(segment: string): boolean {
  try {
    const decoded = decodeURIComponent(segment);
    return !/[/\\%\p{Cc}]/u.test(decoded) && !/^\.\.?$/.test(decoded);
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}
