/** The part of a target after `?`; empty without one. */
export function queryOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? '' : target.slice(mark + 1);
}

/** The part of a target before `?`. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?');
  return mark < 0 ? target : target.slice(0, mark);
}

/** The first value of a query parameter, decoded as forms are, one character per byte; null without the parameter. */
export function parameterIn(query: string, name: string): string | null {
  for (let from = 0; from < query.length; ) {
    const found = query.indexOf('&', from);
    const end = found < 0 ? query.length : found;
    const equals = query.indexOf('=', from);
    const nameEnd = equals < 0 || equals > end ? end : equals;
    if (formDecoded(query.slice(from, nameEnd)) === name) return nameEnd === end ? '' : formDecoded(query.slice(nameEnd + 1, end));
    from = end + 1;
  }
  return null;
}

/** `+` is a space, and an escape one byte. Incomplete escapes are literal. */
export function formDecoded(text: string): string {
  if (!/[+%]/.test(text)) return text;
  return text.replaceAll('+', ' ').replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
