import type { Word } from './word.ts';

/** What looks like a placeholder where none is resolved: `{host}`, `{http.request.uri}`. In backquotes it is plain text. */
export function findPlaceholder(word: Word): string | undefined {
  return word.style === 'raw' ? undefined : /\{[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*\}/.exec(word.text)?.[0];
}
