/** Media types that compress well, in addition to text and formats based on JSON or XML. */
const COMPRESSIBLE: ReadonlySet<string> = new Set([
  'application/javascript',
  'application/json',
  'application/x-javascript',
  'application/xml',
  'application/xhtml+xml',
  'application/wasm',
  'application/x-ndjson',
  'application/x-protobuf',
  'application/protobuf',
  'application/yaml',
  'application/toml',
  'application/sql',
  'application/graphql',
  'application/rtf',
  'application/vnd.ms-fontobject',
  'application/x-font-ttf',
  'application/x-font-opentype',
  'font/ttf',
  'font/otf',
  'font/collection',
  'image/bmp',
  'image/svg+xml',
  'image/vnd.microsoft.icon',
  'image/x-icon',
]);

/** Streams whose events would wait in an encoder, or whose framing depends on their bytes. */
const isStream = (type: string): boolean =>
  type === 'text/event-stream' || type.startsWith('application/grpc') || type.startsWith('application/connect+');

const isCompressible = (type: string): boolean =>
  type.startsWith('text/') || COMPRESSIBLE.has(type) || type.endsWith('+json') || type.endsWith('+xml');

/** Whether a type should be encoded; `type` in lower case without parameters. Without patterns, types that compress well are. */
export function compileTypes(patterns: readonly string[] | undefined): (type: string) => boolean {
  if (patterns === undefined) return (type) => isCompressible(type) && !isStream(type);
  const matchers = patterns.map(compilePattern);
  return (type) => matchers.some((matches) => matches(type)) && !isStream(type);
}

function compilePattern(pattern: string): (type: string) => boolean {
  const opens = pattern.startsWith('*');
  const closes = pattern.endsWith('*');
  const text = pattern.slice(opens ? 1 : 0, closes ? -1 : undefined);
  if (opens) return closes ? (type) => type.includes(text) : (type) => type.endsWith(text);
  return closes ? (type) => type.startsWith(text) : (type) => type === text;
}
