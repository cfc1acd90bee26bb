import type { Effort } from './effort.ts';
import { bytesOf } from './path-bytes.ts';

/** The cost of a search in steps, and of each place where the first character matches. */
const SEARCH_STEPS = 6;
const PLACE_STEPS = 1;

/** A text that is searched for many other texts. The cost of a search is known in advance, so that no text can make it expensive. */
export class SearchableText {
  private readonly make: () => string;
  private known: string | null = null;
  /** How often each character occurs. */
  private readonly places = new Uint16Array(256);

  /** `make` returns the text, up to 65,535 bytes as characters, on the first search. */
  constructor(make: () => string) {
    this.make = make;
  }

  /** Whether the text contains `text` from `from` on. Also true if the search would cost too much. */
  mayContain(part: string, from: number, effort: Effort): boolean {
    const { text } = this;
    return !effort.spend(this.stepsFor(part)) || text.indexOf(part, from) >= 0;
  }

  /** The same, if `isBefore` accepts the character code after the match, which is NaN at the end. */
  mayContainBefore(part: string, from: number, effort: Effort, isBefore: (code: number) => boolean): boolean {
    const { text } = this;
    if (!effort.spend(this.stepsFor(part))) return true;
    for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1))
      if (isBefore(text.charCodeAt(at + part.length)) || !effort.spend(SEARCH_STEPS)) return true;
    return false;
  }

  /** The same, if `isAfter` accepts the text before the match, which ends at `at`. */
  mayContainAfter(part: string, from: number, effort: Effort, isAfter: (text: string, at: number) => boolean): boolean {
    const { text } = this;
    if (!effort.spend(this.stepsFor(part))) return true;
    for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1))
      if (isAfter(text, at) || !effort.spend(SEARCH_STEPS)) return true;
    return false;
  }

  /** The cost of searching for another text here, or in a part of this one. */
  stepsFor(part: string): number {
    return this.text === '' ? 0 : SEARCH_STEPS + PLACE_STEPS * (this.places[part.charCodeAt(0)] ?? 0);
  }

  private get text(): string {
    if (this.known !== null) return this.known;
    const { places } = this;
    const text = this.make();
    const bytes = bytesOf(text);
    for (let at = 0; at < text.length; at++) {
      const byte = bytes[at] as number;
      places[byte] = (places[byte] as number) + 1;
    }
    this.known = text;
    return text;
  }
}
