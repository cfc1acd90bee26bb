import type { Effort } from './effort.ts';
import { bytesOf } from './path-bytes.ts';

/** Steps of a search, and of each place where it stops, since the first character is the right one. */
const SEARCH_STEPS = 6;
const PLACE_STEPS = 1;

/** A text that is searched for many others. What a search costs is known before, so that no text makes it dear. */
export class Searched {
  private readonly make: () => string;
  private known: string | null = null;
  /** How often each character is there. */
  private readonly places = new Uint16Array(256);

  /** `make` gives the text, up to 65,535 bytes as characters, when it is searched for the first time. */
  constructor(make: () => string) {
    this.make = make;
  }

  /** Whether the text holds another one from a place on; true where the search would cost too much. */
  mayHold(part: string, from: number, effort: Effort): boolean {
    const { text } = this;
    return !effort.spend(this.stepsFor(part)) || text.indexOf(part, from) >= 0;
  }

  /** The same, where something follows that `isBefore` is asked about: a character code, NaN at the end. */
  mayHoldBefore(part: string, from: number, effort: Effort, isBefore: (code: number) => boolean): boolean {
    const { text } = this;
    if (!effort.spend(this.stepsFor(part))) return true;
    for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1))
      if (isBefore(text.charCodeAt(at + part.length)) || !effort.spend(SEARCH_STEPS)) return true;
    return false;
  }

  /** What it costs to look for another text here, or in a part of this. */
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
