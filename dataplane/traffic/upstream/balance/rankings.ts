import type { Exchange } from '../../exchange/exchange.ts';
import type { Candidate } from './candidate.ts';
import { hashText, mixed } from './hash-text.ts';
import type { Ranking } from './ranked.ts';

const always = (): number => 0;

/** The first in the order written. */
export const FIRST: Ranking = { keyOf: always, score: always };

/**
 * Rendezvous hashing: a request is sent to the target with the highest hash of both. If a target comes or goes, only the requests that it
 * gains or loses change their target.
 */
export function hashed(textOf: (x: Exchange) => string | null, candidates: readonly Candidate[]): Ranking {
  const keyOf = (x: Exchange): number | null => {
    const text = textOf(x);
    return text === null ? null : hashText(text);
  };
  const isEven = candidates.every(({ weight }) => weight === candidates[0]?.weight);
  return { keyOf, score: isEven ? evenScore : weightedScore };
}

const evenScore = ({ hash }: Candidate, key: number): number => mixed(key, hash);

/** Weighted rendezvous hashing: -w / ln(u) is the highest with a probability proportional to w, for u uniform in (0, 1). */
const weightedScore = ({ hash, weight }: Candidate, key: number): number => -weight / Math.log((mixed(key, hash) + 0.5) / 0x1_0000_0000);
