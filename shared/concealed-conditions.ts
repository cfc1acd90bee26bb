import type { Condition, PlainCondition } from './condition.ts';
import { mark } from './policy/concealed-text.ts';

/** The members of routes, blocks and policies that are a condition or a list of them. */
export const CONDITION_MEMBERS: ReadonlySet<string> = new Set(['match', 'bypass', 'except']);

/** A route, or a part of it, for display; the same object if it has no conditions. */
export function withConcealedConditions<Part>(part: Part): Part {
  if (typeof part !== 'object' || part === null) return part;
  const before = Object.entries(part);
  const after = before.map(([name, value]) => (CONDITION_MEMBERS.has(name) ? concealedConditions(value) : withConcealedConditions(value)));
  if (after.every((value, index) => value === before[index]?.[1])) return part;
  return (Array.isArray(part) ? after : Object.fromEntries(before.map(([name], index) => [name, after[index]]))) as Part;
}

const concealedConditions = (value: Condition | readonly Condition[] | undefined): Condition | readonly Condition[] | undefined =>
  Array.isArray(value) ? value.map(concealedCondition) : value && concealedCondition(value as Condition);

const concealedCondition = (condition: Condition): Condition => ({
  ...concealedPlain(condition),
  ...(condition.not && { not: condition.not.map(concealedPlain) }),
});

/** What a field or a parameter is compared with may be a secret that clients share with the site. */
function concealedPlain<One extends PlainCondition>(condition: One): One {
  const { header, query, header_regexp, query_regexp } = condition;
  return {
    ...condition,
    ...(header && { header: header.map(withoutValues) }),
    ...(query && { query: query.map(withoutValues) }),
    ...(header_regexp && { header_regexp: header_regexp.map(withoutPattern) }),
    ...(query_regexp && { query_regexp: query_regexp.map(withoutPattern) }),
  };
}

const withoutValues = <One extends { readonly values: string[] }>(one: One): One => ({ ...one, values: one.values.map(concealedValue) });
const withoutPattern = <One extends { readonly pattern: string }>(one: One): One => ({ ...one, pattern: mark(one.pattern) });

/** `*` matches any value, and no secret is empty. */
const concealedValue = (value: string): string => (/^\*{0,2}$/.test(value) ? value : mark(value));
