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
export const parameterIn = (query: string, name: string): string | null => valuesIn(query, name, 1)[0] ?? null;

export const hasSeveral = (query: string, name: string): boolean => valuesIn(query, name, 2).length > 1;

/** The values of the first parameters of a name. */
function valuesIn(query: string, name: string, most: number): string[] {
  const values: string[] = [];
  const after = (sign: string, from: number): number => (query.indexOf(sign, from) + 1 || query.length + 1) - 1;
  for (let from = 0, equals = -1; from < query.length && values.length < most; ) {
    const end = after('&', from);
    if (equals < from) equals = after('=', from);
    const nameEnd = Math.min(equals, end);
    if (formDecoded(query.slice(from, nameEnd)) === name) values.push(formDecoded(query.slice(nameEnd + 1, end)));
    from = end + 1;
  }
  return values;
}

/** `+` is a space, and an escape one byte. Incomplete escapes are literal. */
export function formDecoded(text: string): string {
  if (!/[+%]/.test(text)) return text;
  return text.replaceAll('+', ' ').replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
