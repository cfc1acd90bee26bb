import type { Placeholder } from '../../../../shared/placeholders/template.ts';

/** Placeholders whose values are part of a URL as they were sent. */
const AS_SENT = /^http\.request\.(?:orig_)?(?:uri(?!\.query\.)|host|port|scheme)/;

/**
 * A value as a part of a URL: what was decoded, or was never encoded, must not add a query, a parameter or a fragment. Slashes are kept.
 */
export function encodedComponent(value: string, { name }: Placeholder): string {
  return AS_SENT.test(name) ? value : value.replace(/[^A-Za-z0-9\-._~/]/g, (char) => escaped(char));
}

/** Text from clients may appear in a URL but must never end the line or the field that holds it. One character is one byte. */
export const urlSafe = (text: string): string => text.replace(/[^\x21-\x7e]/g, (char) => escaped(char));

const escaped = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
