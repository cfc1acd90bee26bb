/** Escapes characters that HTML would interpret as markup; control characters become spaces. */
export function displaySafe(text: string): string {
  return text.replace(/[&<>"'\u0000-\u001f\u007f]/g, (char) => ESCAPES[char] ?? ' ');
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** The code of a problem that prevents reading a whole source: its last good snapshot remains in effect. */
export const SOURCE_FAILED = 'source_failed';
