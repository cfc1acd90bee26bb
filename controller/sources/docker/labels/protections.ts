import { closest } from '../../../../shared/closest.ts';
import { LABEL_PREFIX } from '../../../../shared/name.ts';
import { PLANNED } from '../../../../shared/policy/planned.ts';
import { SITE_POLICIES } from '../../../../shared/policy/policies.ts';
import type { Mislabelled } from '../../../../shared/policy/policy.ts';
import { LABELS } from './label-rules.ts';

/** A label that none of ours is, and that was to keep somebody out: without it the site would be more open than it was meant to be. */
export type Protection = {
  /** The word in front of it, which names the site that it was meant for. */
  readonly site: string | null;
  /** What to write instead. */
  readonly advice: string;
};

const NONE: Mislabelled = { words: [], advice: '' };

/** By their words without hyphens and underscores: ours, those of other proxies, and what people call them. */
const PROTECTIONS: ReadonlyMap<string, string> = new Map([
  ...[...SITE_POLICIES, ...PLANNED].flatMap(({ mislabelled: { words, advice } = NONE }) => words.map((word) => [word, advice] as const)),
  ...['upstreamtls', 'upstreamhttps'].map((word) => [word, `write ${LABEL_PREFIX}upstream_tls=true`] as const),
]);

/** Short words are near to too many others. */
const SHORTEST_TO_GUESS = 7;
const GUESSED = [...PROTECTIONS.keys()].filter((word) => word.length >= SHORTEST_TO_GUESS);
const KNOWN = [...LABELS.keys()].map(bare).filter((word) => !PROTECTIONS.has(word));
/** Somebody says that there is to be none. */
const SWITCHED_OFF = /^(?:off|false|no|none|0|disabled)$/i;

/** What an unknown label was to protect; undefined where it was not. `rest` is what follows the prefix. */
export function protectionOf(rest: string, value: string): Protection | undefined {
  if (SWITCHED_OFF.test(value)) return undefined;
  const words = rest.split('.');
  // sluice.WORD…, sluice.SITE.WORD…: what follows the word is the protection's own.
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
