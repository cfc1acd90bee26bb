import type { RouteDraft } from '../../shared/route.ts';

/** What a directive sets in a site, or what is wrong with it: one line each. */
export type DirectiveReading = { readonly members: RouteDraft } | { readonly reasons: readonly string[] };

/**
 * Reads a directive of the config file that is written elsewhere: `text` is what follows its name. With several lines and no block, each
 * line is the directive once more. Neither variables of the environment nor files can be used in it.
 */
export type DirectiveReader = (name: string, text: string) => DirectiveReading;
