/** The directives of a Cache-Control field by lower-case name; those without a value have an empty one. */
export type Directives = ReadonlyMap<string, string>;

const NONE: Directives = new Map();
/** RFC 9111 1.2.2: a larger number counts as this many seconds. */
export const LONGEST = 2_147_483_648;
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Reads Cache-Control (RFC 9111 5.2). If a directive appears twice, the lower number counts (4.2.1). */
export function readDirectives(value: string): Directives {
  if (value === '') return NONE;
  const directives = new Map<string, string>();
  for (const part of splitList(value)) {
    const equals = part.indexOf('=');
    const name = (equals < 0 ? part : part.slice(0, equals)).trim().toLowerCase();
    if (name === '') continue;
    const argument = equals < 0 ? '' : unquoted(part.slice(equals + 1));
    const before = directives.get(name);
    if (before === undefined || seconds(argument) < seconds(before)) directives.set(name, argument);
  }
  return directives;
}

/** Splits a list at commas outside of quoted strings. */
function splitList(value: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let quoted = false;
  for (let at = 0; at < value.length; at++) {
    const char = value.charCodeAt(at);
    if (quoted && char === BACKSLASH) at++;
    else if (char === QUOTE) quoted = !quoted;
    else if (char === COMMA && !quoted) {
      parts.push(value.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(value.slice(from));
  return parts;
}

const unquoted = (text: string): string =>
  text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text.trimEnd();

/** A number of seconds; 0 if it is not a number, so that nothing is fresh by mistake (RFC 9111 4.2.1). */
export const seconds = (text: string): number => (isDigits(text) ? Math.min(LONGEST, Number(text)) : 0);

function isDigits(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char < 0x30 || char > 0x39) return false;
  }
  return text !== '';
}

const MEMBER =
  /^[ \t]*([a-z*][a-z0-9_.*-]*)(?:=(?:(-?\d{1,15})|\?([01])|("(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"|[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*|-?\d{1,12}\.\d{1,3}|:[A-Za-z0-9+/=]*:)))?(?:[ \t]*|;[^"]*)$/;

/** Reads a targeted field (RFC 9213), a dictionary of structured fields (RFC 8941). null if it is absent, empty or malformed. */
export function readTargeted(value: string): Directives | null {
  if (value === '') return null;
  const directives = new Map<string, string>();
  for (const part of splitList(value)) {
    const match = MEMBER.exec(part);
    if (match === null) return null;
    const [, name = '', number, boolean, other] = match;
    directives.delete(name);
    if (boolean === '0') continue;
    directives.set(name, number ?? (other === undefined ? '' : 'invalid'));
  }
  return directives;
}
