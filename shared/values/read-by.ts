import * as z from 'zod';
import type { Parsed } from './parsed.ts';

/** A schema for a string that a parser accepts, in the parser's form. The reason of a refusal is the message of the issue. */
export const readBy = <T>(read: (text: string) => Parsed<T>, text: z.ZodString = z.string()) =>
  text.transform((given, issues) => {
    const parsed = read(given);
    if (parsed.ok) return parsed.value;
    issues.addIssue({ code: 'custom', message: parsed.reason });
    return z.NEVER;
  });
