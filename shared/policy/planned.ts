import type { UnknownLabels } from './policy.ts';

/** A planned directive, which is refused until it is implemented. */
export type Planned = { readonly name: string; readonly unknownLabels?: UnknownLabels };

export const PLANNED: readonly Planned[] = [{ name: 'cache' }];
