/** Names that are compared in one turn of the event loop. */
const PER_TURN = 2_000;

type Keyed<T> = { readonly key: string; readonly value: T };

/** Numbers in a name are padded to this length, so that 9 comes before 10. */
const DIGITS = 20;

/** Equal for names that differ only by case, accents and leading zeros. */
function keyOf(name: string): string {
  const plain = /^[\x00-\x7f]*$/.test(name) ? name : name.normalize('NFKD').replace(/\p{M}/gu, '');
  return plain.toLowerCase().replace(/\d+/g, (digits) => digits.replace(/^0+(?=\d)/, '').padStart(DIGITS, '0'));
}

/**
 * Sorts by name as people do, with turns of the event loop in between, since a directory may have very many names.
 * @returns null as soon as `unwanted` is true.
 */
export async function byName<T extends { readonly name: string }>(
  items: readonly T[],
  unwanted: () => boolean,
): Promise<readonly T[] | null> {
  const goesOn = async (): Promise<boolean> => {
    await new Promise((resolve) => setImmediate(resolve));
    return !unwanted();
  };
  let runs: Keyed<T>[][] = [];
  for (let at = 0; at < items.length; at += PER_TURN) {
    const run = items.slice(at, at + PER_TURN).map((value) => ({ key: keyOf(value.name), value }));
    runs.push(run.sort((one, other) => (isBefore(one, other) ? -1 : 1)));
    if (!(await goesOn())) return null;
  }
  while (runs.length > 1) {
    const merged: Keyed<T>[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [one = [], other = []] = runs.slice(at, at + 2);
      const both: Keyed<T>[] = [];
      for (let left = 0, right = 0; left < one.length || right < other.length; ) {
        const [first, second] = [one[left], other[right]];
        if (second === undefined || (first !== undefined && isBefore(first, second))) {
          both.push(first as Keyed<T>);
          left++;
        } else {
          both.push(second);
          right++;
        }
        if (both.length % PER_TURN === 0 && !(await goesOn())) return null;
      }
      merged.push(both);
    }
    runs = merged;
  }
  return (runs[0] ?? []).map(({ value }) => value);
}

function isBefore(one: Keyed<{ readonly name: string }>, other: Keyed<{ readonly name: string }>): boolean {
  return one.key === other.key ? one.value.name < other.value.name : one.key < other.key;
}
