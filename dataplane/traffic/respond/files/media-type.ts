import { createRequire } from 'node:module';
import { extname } from 'node:path';

type MimeTypes = { lookup(extension: string): string | false };

/** Loaded with the first file server: the table of types takes a worker 1 MB. */
let types: MimeTypes | null = null;

/**
 * Content-Type by the extension of a name. Text is UTF-8, which browsers don't assume. JSON has no charset (RFC 8259 11), and XML names its
 * own (RFC 7303 3).
 */
export function mediaTypeOf(name: string): string {
  types ??= createRequire(import.meta.url)('mime-types') as MimeTypes;
  const extension = extname(name);
  const type = (extension.length > 1 && types.lookup(extension)) || 'application/octet-stream';
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type;
}
