/** Memory for a tag of an entry, and for the tag as such, besides its text (bytes, measured with 300,000 to 3,000,000 of them). */
const TAG_BYTES = 48;
const OWN_TAG_BYTES = 208;

type Tagged = { readonly entry: { readonly tags: readonly string[] } };

/**
 * Entries by tag. What a tag takes as such counts for the first entry in its list, and for the one that takes its place. Sets would take
 * more memory, and finding the first one of a set takes longer the more have been removed.
 */
export class Tags<E extends Tagged> {
  private readonly lists = new Map<string, E[]>();
  /** Where an entry is in the list of each of its tags. */
  private readonly places = new Map<E, number[]>();

  /** The memory that the tags of a new entry take (bytes). */
  bytesFor({ tags }: E['entry']): number {
    return tags.reduce((sum, tag) => sum + TAG_BYTES + (this.lists.has(tag) ? 0 : OWN_TAG_BYTES), 0);
  }

  add(one: E): void {
    const { tags } = one.entry;
    if (tags.length === 0) return;
    this.places.set(
      one,
      tags.map((tag) => {
        const list = this.lists.get(tag);
        if (list !== undefined) return list.push(one) - 1;
        this.lists.set(tag, [one]);
        return 0;
      }),
    );
  }

  /** `inherits` is called with each entry that now takes more memory, and how much. */
  remove(one: E, inherits: (other: E, bytes: number) => void): void {
    const places = this.places.get(one);
    if (places === undefined) return;
    for (const [nth, tag] of one.entry.tags.entries()) this.removeAt(tag, places[nth] as number, inherits);
    this.places.delete(one);
  }

  /** The last entry of a list takes the place of the removed one. */
  private removeAt(tag: string, place: number, inherits: (other: E, bytes: number) => void): void {
    const list = this.lists.get(tag);
    const last = list?.pop();
    if (list === undefined || last === undefined) return;
    if (list.length === 0) this.lists.delete(tag);
    if (place === list.length) return;
    list[place] = last;
    (this.places.get(last) as number[])[last.entry.tags.indexOf(tag)] = place;
    if (place === 0) inherits(last, OWN_TAG_BYTES);
  }

  with(tag: string): Iterable<E> {
    return this.lists.get(tag) ?? [];
  }
}
