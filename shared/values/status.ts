import { accepted, type Parsed, refused } from './parsed.ts';

/** A status, or a class of statuses such as `5xx`. */
export type StatusOrClass = number | '2xx' | '3xx' | '4xx' | '5xx';

/** Reads a status of a final response, or a class of them. */
export function parseStatusOrClass(text: string): Parsed<StatusOrClass> {
  if (/^[2-5]xx$/.test(text)) return accepted(text as StatusOrClass);
  if (/^[2-5]\d\d$/.test(text)) return accepted(Number(text));
  return refused('write a status from 200 to 599, such as 404, or a class, such as 5xx');
}

/** Whether a list names a status; a test that costs one look-up. */
export function compileStatuses(list: readonly StatusOrClass[]): (status: number) => boolean {
  const named = new Set<number>();
  for (const one of list)
    if (typeof one === 'number') named.add(one);
    else for (let status = Number(one[0]) * 100, rest = 100; rest > 0; rest--) named.add(status++);
  return (status) => named.has(status);
}
