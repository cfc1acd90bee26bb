import type { z } from 'zod';
import type { Grammar } from '../config-file/directive.ts';

/** What a policy says about itself, once: in routes, in the config file and in labels. What it does to a request is the data plane's. */
export type Policy<Members extends z.ZodRawShape> = Description<Said<Members>> & {
  /** Its members in a route, and in a block where blocks may say it; each with the words that the reference has for it. */
  readonly members: Members;
};

/** Members of a site or of a block, as far as something is said about them. */
export type Said<Members extends z.ZodRawShape> = Partial<z.output<z.ZodObject<Members>>>;

export type Description<Part> = {
  /** How it is written in the config file; its section in the reference is `reference.md` beside it. */
  readonly directive?: Grammar<Part>;
  readonly labels?: readonly Label<Part>[];
  readonly mislabelled?: Mislabelled;
  /** Its members without what nobody is shown; null where there is nothing of that kind. */
  concealed?(said: Part): Part | null;
  /** Whether it asks who is there, so that paths which it leaves open are worth a hint. */
  keepsOut?(said: Part): boolean;
};

/** A label of containers. */
export type Label<Part> = {
  /** What follows `sluice.` or `sluice.<site>.`; `header` is followed by a field name. */
  readonly word: string;
  readonly form: string;
  /** For the reference: what holds without it, and an example. */
  readonly otherwise: string;
  readonly example: string;
  /** @returns what is wrong with the value; undefined when it was taken. */
  read(value: string, said: Part, field: string): string | undefined;
};

/** What people call it in labels that are none of ours: without it the site would be more open than it was meant to be. */
export type Mislabelled = {
  /** Without hyphens and underscores. */
  readonly words: readonly string[];
  /** What to write instead. */
  readonly advice: string;
};
