/** The error envelope of the contract: `{ "error": string }`, safe to show in a page. */
export type ErrorEnvelope = { error: string; retry_after?: number };

/** Escapes what HTML would read as markup; control characters become spaces. */
export function displaySafe(text: string): string {
  return text.replace(/[&<>"'\u0000-\u001f\u007f]/g, (char) => ESCAPES[char] ?? ' ');
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** The code of a problem that keeps a whole source from being read: its last good snapshot stays in effect. */
export const SOURCE_FAILED = 'source_failed';
