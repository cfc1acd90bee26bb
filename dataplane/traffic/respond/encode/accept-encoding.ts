/*
 * Accept-Encoding (RFC 9110 12.5.3). Clients send few different values, so the choice for each is remembered.
 */

const FIELD = /^accept-encoding:(.*)$/gim;
/** `x-gzip` is gzip (RFC 9110 8.4.1.3). */
const ITEM = /^[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*(?:;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*)?$/i;

/** Values that are remembered for each list of codings, and the longest of them (characters). */
const MAX_REMEMBERED = 100;
const LONGEST_REMEMBERED = 100;

/** Chooses a coding for a request. */
export class CodingChoice {
  /** In the order of preference. */
  private readonly names: readonly string[];
  private readonly remembered = new Map<string, string | null>();

  constructor(names: readonly string[]) {
    this.names = names;
  }

  /** @param fields the request's, as lines. @returns null if the response should not be encoded. */
  choose(fields: string): string | null {
    let value = '';
    for (const [, one = ''] of fields.matchAll(FIELD)) value += value === '' ? one : `,${one}`;
    if (value === '') return null;
    if (value.length > LONGEST_REMEMBERED) return this.read(value);
    let chosen = this.remembered.get(value);
    if (chosen === undefined) {
      chosen = this.read(value);
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
      this.remembered.set(value, chosen);
    }
    return chosen;
  }

  /** The highest quality wins, and among equal ones the first of the list. Items that are malformed are ignored. */
  private read(value: string): string | null {
    const qualities = new Map<string, number>();
    for (const item of value.split(',')) {
      const [, name, quality = '1'] = ITEM.exec(item) ?? [];
      if (name === undefined) continue;
      const coding = name.toLowerCase() === 'x-gzip' ? 'gzip' : name.toLowerCase();
      // A coding that is named twice has the lower quality: sending it unencoded is always safe.
      qualities.set(coding, Math.min(qualities.get(coding) ?? 1, Number(quality)));
    }
    const others = qualities.get('*') ?? 0;
    // Only an explicit quality makes a client prefer an unencoded response.
    let best = qualities.get('identity') ?? 0;
    let chosen: string | null = null;
    for (const name of this.names) {
      const quality = qualities.get(name) ?? others;
      if (quality === 0 || (chosen === null ? quality < best : quality <= best)) continue;
      best = quality;
      chosen = name;
    }
    return chosen;
  }
}
