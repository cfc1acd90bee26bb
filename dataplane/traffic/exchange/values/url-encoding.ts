import type { Placeholder } from '../../../../shared/placeholders/template.ts';

/** Placeholders whose values are part of a URL as they were sent. */
const AS_SENT = /^http\.request\.(?:orig_)?(?:uri(?!\.query\.)|host|port|scheme)/;

/**
 * A value as part of a URL: a decoded or unencoded value must not add a query, a parameter or a fragment. Slashes are kept.
 */
export function encodedComponent(value: string, { name }: Placeholder): string {
  return AS_SENT.test(name) ? value : value.replace(/[^A-Za-z0-9\-._~/]/g, (char) => escaped(char));
}

/** Placeholders that are a query as it was sent, and those that are a whole path and query. */
const QUERIES = /^http\.request\.(?:orig_)?uri\.(?:prefixed_)?query$/;
const TARGETS = /^http\.request\.(?:orig_)?uri$/;

/**
 * A value as a part of a query: a path that a client has chosen must not add a parameter. The escapes of a path remain, so that the
 * application reads the same path in the query; those of a whole target are a part of the value.
 */
export function encodedParameter(value: string, placeholder: Placeholder): string {
  const { name } = placeholder;
  if (QUERIES.test(name)) return value;
  if (TARGETS.test(name)) return value.replace(/[^A-Za-z0-9\-._~/:]/g, (char) => escaped(char));
  return encodedComponent(value, placeholder).replace(/[&+=;?#]/g, (char) => escaped(char));
}

/** Text from clients may appear in a URL but must never end the line or the field that holds it. One character is one byte. */
export const urlSafe = (text: string): string => text.replace(/[^\x21-\x7e]/g, (char) => escaped(char));

const escaped = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
