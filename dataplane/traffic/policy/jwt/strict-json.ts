/** Levels of arrays and objects. */
const DEEPEST = 16;

/**
 * A JSON object from UTF-8, without what parsers disagree about: a name that appears twice in one object (RFC 7519 4). null for anything
 * else.
 */
export function parseStrictObject(bytes: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && isUnambiguous(text) ? (value as Record<string, unknown>) : null;
  } catch {
    // Not UTF-8 or not JSON, so null like everything else that is rejected.
    return null;
  }
}

/** `text` is valid JSON. */
function isUnambiguous(text: string): boolean {
  /** The names seen in each open object; null for an array. */
  const open: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{' || char === '[') {
      if (open.push(char === '{' ? new Set() : null) > DEEPEST) return false;
    } else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const end = endOfString(text, at);
      const names = open.at(-1);
      if (names && isName(text, end)) {
        // Escapes are resolved, since "a" and "\u0061" are the same name.
        const name: string = JSON.parse(text.slice(at, end));
        if (names.has(name)) return false;
        names.add(name);
      }
      at = end - 1;
    }
  }
  return true;
}

/** The index after the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function isName(text: string, from: number): boolean {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\r' || text[at] === '\n') at++;
  return text[at] === ':';
}
