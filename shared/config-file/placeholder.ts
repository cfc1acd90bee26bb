import type { Word } from './word.ts';

/** Text that looks like a placeholder where none is supported: `{host}`, `{http.request.uri}`. In backquotes it is literal. */
export function findPlaceholder(word: Word): string | undefined {
  return word.style === 'raw' ? undefined : /\{[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*\}/.exec(word.text)?.[0];
}
