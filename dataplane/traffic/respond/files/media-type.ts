import { createRequire } from 'node:module';
import { extname } from 'node:path';

type MimeTypes = { contentType(extension: string): string | false };

/** Loaded with the first file server: the table of types takes a worker 1 MB. */
let types: MimeTypes | null = null;

/** Content-Type by the extension of a name, with the charset of text. */
export function mediaTypeOf(name: string): string {
  types ??= createRequire(import.meta.url)('mime-types') as MimeTypes;
  const extension = extname(name);
  return (extension.length > 1 && types.contentType(extension)) || 'application/octet-stream';
}
