import { createHash } from 'node:crypto';
import { templateParts } from '../placeholders/template.ts';

/**
 * A text that may be a secret, for display: a mark that every parser rejects, as it looks like a placeholder that does not exist. Its 16
 * bits tell whether two texts are probably equal, and are too few to guess a text by. A text made of placeholders alone is shown.
 */
export function concealedText(text: string): string {
  if (templateParts(text, 'target').every((part) => 'placeholder' in part)) return text;
  return mark(text);
}

/** The same for a text without placeholders. Its parser rejects marks by `NOT_CONCEALED`. */
export const mark = (text: string): string => `{redacted-${createHash('sha256').update(text).digest('hex').slice(0, 4)}}`;

/** The query of a path or URI may be a key. */
export function concealedQuery(uri: string): string {
  const at = uri.indexOf('?') + 1;
  return at === 0 ? uri : uri.slice(0, at) + concealedText(uri.slice(at));
}

/** Texts without marks; and what is wrong with the others. */
export const NOT_CONCEALED = {
  accepts: (text: string): boolean => !/\{redacted-[0-9a-f]{4}\}/.test(text),
  reason: 'this value is redacted: write the real one',
};
