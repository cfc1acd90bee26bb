import type { UnknownLabels } from './policy.ts';

/** A planned directive, which is refused until it is implemented. */
export type Planned = { readonly name: string; readonly unknownLabels?: UnknownLabels };

const ELSEWHERE = 'not available: leave it out, and let the app or a proxy behind this one do it';

export const PLANNED: readonly Planned[] = [
  { name: 'cache' },
  { name: 'under_attack', unknownLabels: { words: ['underattack', 'challenge', 'captcha', 'waf'], advice: ELSEWHERE } },
];
