import type * as z from 'zod';
import type { Grammar } from '../config-file/directive.ts';

/**
 * The one description of a policy: its members in routes, its directive and its labels. Its effect on requests is implemented in the data
 * plane.
 */
export type PolicyDescription<Members extends z.ZodRawShape> = Description<PolicyPart<Members>> & {
  /** Its members in a route, and in a block if blocks allow it; each with its description for the reference. */
  readonly members: Members;
};

/** The members that are present in a site or block. */
export type PolicyPart<Members extends z.ZodRawShape> = Partial<z.output<z.ZodObject<Members>>>;

export type Description<Part> = {
  /** Its syntax in the config file; its section in the reference is `reference.md` in the same folder. */
  readonly directive?: Grammar<Part>;
  readonly labels?: readonly Label<Part>[];
  readonly unknownLabels?: UnknownLabels;
  /** Its members without secrets; null if it has none. */
  concealed?(part: Part): Part | null;
  /** Whether it restricts access, so that paths it leaves open deserve a warning. */
  restrictsAccess?(part: Part): boolean;
};

/** A container label. */
export type Label<Part> = {
  /** The text after `sluice.` or `sluice.<site>.`; `header` is followed by a field name. */
  readonly word: string;
  readonly form: string;
  /** For the reference: the default, and an example. */
  readonly otherwise: string;
  readonly example: string;
  /** @returns what is wrong with the value; undefined if it was accepted. */
  read(value: string, part: Part, field: string): string | undefined;
};

/** Unknown labels that look like this policy. Ignoring one would leave the site more open than intended. */
export type UnknownLabels = {
  /** Without hyphens and underscores. */
  readonly words: readonly string[];
  /** What to write instead. */
  readonly advice: string;
};
