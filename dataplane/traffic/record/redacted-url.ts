/** In place of a secret, as in Caddy's log. */
export const REDACTED = 'REDACTED';

/** A name that indicates a secret value, of a query parameter or of a field. */
const SECRET =
  /token|secret|passw|passphrase|pwd|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential|authori[sz]ation|^auth$|[-_.]auth$|cookie|session|^sid$|^sig$|signature|jwt|assertion|^(?:code|key|otp|pin|ticket)$/i;

export const namesSecret = (name: string): boolean => SECRET.test(name);

/** Results for parameter names. Clients choose the names, so their number is limited. */
const known = new Map<string, boolean>();
const MAX_KNOWN = 2_000;
const LONGEST_KNOWN = 64;

const USER = /(:\/\/|^\/\/)[^/?#\s]*@/g;
/** The same in a URL that is the value of a parameter. What is encoded more often than its `://` belongs to the name or the password. */
const USER_WITHIN = /(%(?<n>(?:25){0,3})3a(?:%\k<n>2f){2})(?:(?!%\k<n>(?:2f|3f|23))[^\s/?#&;@]){1,4096}(?=%\k<n>40)/gi;
/**
 * The name of a parameter in a URL that is itself the value of one, and so percent-encoded, once or repeatedly. It is limited, so one pass is
 * enough.
 */
const WITHIN = /(?<=%(?:25){0,3}(?:3f|26|3b|23))((?:[\w.[\]-]|%(?:25){0,3}(?:5b|5d)){1,64})%((?:25){0,3})3d/gi;
/** What ends its value, by how often its `=` is encoded: separators that are encoded once more belong to the value. */
const ENDS: readonly RegExp[] = [0, 1, 2, 3].map((more) => new RegExp(`[&;#?]|%(?:25){0,${more}}(?:26|3b|23)`, 'gi'));
const [QUESTION, AND, SEMICOLON, HASH, EQUALS] = [0x3f, 0x26, 0x3b, 0x23, 0x3d];

/**
 * Text that contains URLs, without the values of parameters whose name suggests that they are secret, in the query and in the fragment, and
 * without user names and passwords before a host.
 */
export function redactedUrl(url: string): string {
  const text = url.includes('@') ? url.replace(USER, (_, before: string) => `${before}${REDACTED}@`) : url;
  let kept = '';
  let from = 0;
  for (let equals = text.indexOf('='); equals >= 0; equals = text.indexOf('=', from > equals ? from : equals + 1)) {
    let start = equals;
    while (start > from && !beginsName(text.charCodeAt(start - 1))) start--;
    if (!isSecret(text.slice(start, equals))) continue;
    let end = equals + 1;
    while (end < text.length && !separates(text.charCodeAt(end))) end++;
    if (end > equals + 1) kept += `${text.slice(from, equals + 1)}${REDACTED}`;
    else kept += text.slice(from, end);
    from = end;
  }
  return redactedWithin(from === 0 ? text : kept + text.slice(from));
}

/** As after a login: `/login?next=https%3A%2F%2Fshop.example%2F%3Ftoken%3Dx`. */
function redactedWithin(text: string): string {
  if (!text.includes('%')) return text;
  return parametersRedacted(text.replace(USER_WITHIN, (_, before: string) => `${before}${REDACTED}`));
}

function parametersRedacted(text: string): string {
  let kept = '';
  let from = 0;
  for (const { 0: whole, 1: name = '', 2: encoded = '', index } of text.matchAll(WITHIN)) {
    if (index < from || !isSecret(name)) continue;
    const start = index + whole.length;
    const end = endOfValue(text, start, ENDS[encoded.length / 2] as RegExp);
    if (end > start) kept += `${text.slice(from, start)}${REDACTED}`;
    else kept += text.slice(from, start);
    from = end;
  }
  return from === 0 ? text : kept + text.slice(from);
}

function endOfValue(text: string, start: number, ends: RegExp): number {
  ends.lastIndex = start;
  return ends.exec(text)?.index ?? text.length;
}

const beginsName = (code: number): boolean => separates(code) || code === EQUALS;
const separates = (code: number): boolean => code === QUESTION || code === AND || code === SEMICOLON || code === HASH;

function isSecret(name: string): boolean {
  const found = known.get(name);
  if (found !== undefined) return found;
  const secret = namesSecret(decoded(name));
  if (name.length <= LONGEST_KNOWN) {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(name, secret);
  }
  return secret;
}

/** A malformed escape is left unchanged. */
const decoded = (name: string): string =>
  name.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))).trim();
