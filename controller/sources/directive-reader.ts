import type { RouteDraft } from '../../shared/route.ts';

/** What a directive sets in a site, or what is wrong with it: one line each. */
export type DirectiveReading = { readonly members: RouteDraft } | { readonly reasons: readonly string[] };

/**
 * Reads a directive of the config file that is written elsewhere: `text` is what follows its name. If there are several lines and no block,
 * each line is one more use of the directive. Environment variables and files are not available.
 */
export type DirectiveReader = (name: string, text: string) => DirectiveReading;
