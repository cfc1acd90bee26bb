import { closest } from '../../../shared/closest.ts';
import { LABEL_PREFIX } from '../../../shared/name.ts';
import { SITE_POLICIES } from '../../../shared/policy/policies.ts';
import type { UnknownLabels } from '../../../shared/policy/policy.ts';
import { LABELS } from './label-rules.ts';

/** An unknown label that was meant to restrict access: ignoring it would leave the site more open than intended. */
export type Protection = {
  /** The text before it, which names the intended site. */
  readonly site: string | null;
  /** What to write instead. */
  readonly advice: string;
};

const NONE: UnknownLabels = { words: [], advice: '' };

/** By names without hyphens and underscores: ours, those of other proxies, and common ones. */
const PROTECTIONS: ReadonlyMap<string, string> = new Map([
  ...SITE_POLICIES.flatMap(({ unknownLabels: { words, advice } = NONE }) => words.map((word) => [word, advice] as const)),
  ...['upstreamtls', 'upstreamhttps'].map((word) => [word, `write ${LABEL_PREFIX}upstream_tls=true`] as const),
]);

/** Short names are similar to too many others. */
const SHORTEST_TO_GUESS = 7;
const GUESSED = [...PROTECTIONS.keys()].filter((word) => word.length >= SHORTEST_TO_GUESS);
const KNOWN = [...LABELS.keys()].map(bare).filter((word) => !PROTECTIONS.has(word));
/** Values that switch a protection off. */
const SWITCHED_OFF = /^(?:off|false|no|none|0|disabled)$/i;

/** The protection that an unknown label was meant to set; undefined if none. `rest` is the text after the prefix. */
export function protectionOf(rest: string, value: string): Protection | undefined {
  if (SWITCHED_OFF.test(value)) return undefined;
  const words = rest.split('.');
  // sluice.WORD…, sluice.SITE.WORD…: the text after the word belongs to the protection.
  for (const [at, word] of words.slice(0, 2).entries()) {
    const advice = adviceOn(bare(word));
    if (advice !== undefined) return { site: at === 0 ? null : (words[0] ?? null), advice };
  }
  return undefined;
}

function adviceOn(word: string): string | undefined {
  const exact = PROTECTIONS.get(word);
  if (exact !== undefined || KNOWN.includes(word)) return exact;
  const meant = closest(word, [...KNOWN, ...GUESSED]);
  return meant === undefined ? undefined : PROTECTIONS.get(meant);
}

function bare(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '');
}
