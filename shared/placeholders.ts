/** The placeholders of a redirect's target; the short names first. */
export const PLACEHOLDERS = [
  'remainder',
  'host',
  'path',
  'query',
  'uri',
  'http.request.uri.path.remainder',
  'http.request.host',
  'http.request.uri.path',
  'http.request.uri.query',
  'http.request.uri',
] as const;

export type Placeholder = (typeof PLACEHOLDERS)[number];
