import { createHash } from 'node:crypto';
import { templateParts } from '../placeholders/template.ts';

/**
 * A text that may be a secret, for display: a mark that every parser rejects, as it looks like a placeholder that does not exist. Its 16
 * bits tell whether two texts are probably equal, and are too few to guess a text by. A text made of placeholders alone is shown.
 */
export function concealedText(text: string): string {
  if (templateParts(text, 'target').every((part) => 'placeholder' in part)) return text;
  return `{redacted-${createHash('sha256').update(text).digest('hex').slice(0, 4)}}`;
}
