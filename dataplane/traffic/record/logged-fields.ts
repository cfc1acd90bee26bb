import { jsonText } from './json-text.ts';
import { namesSecret, REDACTED, redactedUrl } from './redacted-url.ts';

/** Field lines beyond this many bytes are left out of the log. */
const MAX_BYTES = 65_536;
/** Names that are remembered, and the longest of them. Clients choose names. */
const MAX_NAMES = 2_000;
const LONGEST_NAME = 64;
const SP = 32;

/** A name as it was sent, and how it is logged. */
type Name = {
  /** `"Name":[`, and the same after a comma. */
  readonly key: string;
  readonly next: string;
  readonly secret: boolean;
  readonly skipped: boolean;
  /** The last section that had it. */
  section: number;
};

const names = new Map<string, Name>();
let sections = 0;

/** Sections that are remembered, and the longest of them. */
const MAX_SECTIONS = 500;
const LONGEST_SECTION = 2_048;
/** Once this many more sections were unknown than known, lookups pause. */
const MAX_UNKNOWN = 500;
const PAUSE = 50_000;

/** Characters that can't be part of a JSON string unescaped, or may belong to a URL with a query or a user. */
const SPECIAL = /[^ !$'->A-[\]-~\r\n]/g;
const URL_PART = /[?#&@%]/;

/**
 * Renders field sections of one kind, and remembers them: clients and upstreams repeat theirs from message to message. Where they don't,
 * remembering costs more than it saves, and pauses.
 */
export class LoggedFields {
  private readonly rendered = new Map<string, string>();
  private unknown = 0;
  private paused = 0;

  /**
   * Field lines as a JSON object: each name in the usual capitals (`X-Request-Id`) with a list of its values, as in Caddy's log. `Host` is
   * left out, since it has a member of its own. Secrets are replaced.
   */
  json(lines: string): string {
    if (lines === '' || lines.length > MAX_BYTES) return '{}';
    if (lines.length > LONGEST_SECTION) return render(lines);
    if (this.paused > 0) {
      this.paused--;
      return render(lines);
    }
    const found = this.rendered.get(lines);
    if (found === undefined) return this.remember(lines);
    if (this.unknown > 0) this.unknown--;
    return found;
  }

  private remember(lines: string): string {
    const json = render(lines);
    if (this.rendered.size >= MAX_SECTIONS) this.rendered.clear();
    this.rendered.set(lines, json);
    if (++this.unknown < MAX_UNKNOWN) return json;
    this.unknown = 0;
    this.paused = PAUSE;
    this.rendered.clear();
    return json;
  }
}

function render(lines: string): string {
  const section = ++sections;
  if (names.size >= MAX_NAMES) names.clear();
  // Searched for in all lines at once, because few values have any of it.
  let special = specialFrom(lines, 0);
  let json = '{';
  let first = true;
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(':', at);
    const end = lines.indexOf('\r\n', colon);
    const name = nameOf(lines.slice(at, colon));
    if (name.section === section || colon - at > LONGEST_NAME) return withRepeated(lines);
    name.section = section;
    if (special < at) special = specialFrom(lines, at);
    at = end + 2;
    if (name.skipped) continue;
    json += first ? name.key : name.next;
    first = false;
    if (name.secret) json += `"${REDACTED}"]`;
    else if (special >= end && lines.charCodeAt(colon + 1) === SP) json += `"${lines.slice(colon + 2, end)}"]`;
    else json += `${valueIn(lines, colon, end)}]`;
  }
  return `${json}}`;
}

/** The index of the next special character, or the length. */
function specialFrom(lines: string, at: number): number {
  SPECIAL.lastIndex = at;
  return SPECIAL.test(lines) ? SPECIAL.lastIndex - 1 : lines.length;
}

function valueIn(lines: string, colon: number, end: number): string {
  const value = lines.slice(lines.charCodeAt(colon + 1) === SP ? colon + 2 : colon + 1, end);
  return jsonText(URL_PART.test(value) ? redactedUrl(value) : value);
}

/** A name that occurs several times has one member with all of its values. */
function withRepeated(lines: string): string {
  const members = new Map<string, string[]>();
  for (let at = 0; at < lines.length; ) {
    const colon = lines.indexOf(':', at);
    const end = lines.indexOf('\r\n', colon);
    const { key, secret, skipped } = nameOf(lines.slice(at, colon));
    const values = members.get(key) ?? [];
    values.push(secret ? `"${REDACTED}"` : valueIn(lines, colon, end));
    if (!skipped) members.set(key, values);
    at = end + 2;
  }
  return `{${[...members].map(([key, values]) => `${key}${values.join(',')}]`).join(',')}}`;
}

function nameOf(sent: string): Name {
  const known = names.get(sent);
  if (known !== undefined) return known;
  const capital = sent.toLowerCase().replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
  const key = `${jsonText(capital)}:[`;
  // Another spelling of a known name is the same name.
  const same = names.get(capital);
  const name = same ?? { key, next: `,${key}`, secret: namesSecret(sent), skipped: capital === 'Host', section: 0 };
  if (sent.length > LONGEST_NAME) return name;
  names.set(capital, name);
  names.set(sent, name);
  return name;
}
