/** A function of a text that remembers its last results, for texts that are long and come many times. The results must not depend on anything else. */
export function remembered<Result>(read: (text: string) => Result, max: number): (text: string) => Result {
  const known = new Map<string, Result>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const result = read(text);
    if (known.size >= max) for (const oldest of known.keys()) if (known.delete(oldest)) break;
    known.set(text, result);
    return result;
  };
}
