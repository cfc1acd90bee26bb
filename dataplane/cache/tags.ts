/** Memory for a tag that no other entry has, besides its text (bytes, measured with 300,000 of them). */
export const TAG_BYTES = 320;

/** Entries by tag. */
export class Tags<E extends { readonly entry: { readonly tags: readonly string[] } }> {
  private readonly tags = new Map<string, Set<E>>();

  add(one: E): void {
    for (const tag of one.entry.tags) {
      const set = this.tags.get(tag);
      if (set === undefined) this.tags.set(tag, new Set([one]));
      else set.add(one);
    }
  }

  remove(one: E): void {
    for (const tag of one.entry.tags) {
      const set = this.tags.get(tag);
      set?.delete(one);
      if (set?.size === 0) this.tags.delete(tag);
    }
  }

  with(tag: string): Iterable<E> {
    return this.tags.get(tag) ?? [];
  }
}
