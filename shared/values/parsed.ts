/**
 * The result of parsing text written by a person. A mistake is data, not an exception. `reason` says what is wrong and what is accepted,
 * without repeating where the text was.
 */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const accepted = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const refused = (reason: string): Parsed<never> => ({ ok: false, reason });

declare const brand: unique symbol;
/** A value that has passed its parser: a raw string is never a `Branded<string, 'Domain'>`. */
export type Branded<T, Name extends string> = T & { readonly [brand]: Name };
