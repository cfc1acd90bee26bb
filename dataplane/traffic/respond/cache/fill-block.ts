import type { InternalTools } from '../../exchange/internal-exchange.ts';
import type { Responder } from '../../exchange/responder.ts';
import type { KeyParts } from './key-parts.ts';
import type { Wanted } from './reader.ts';
import type { CacheStore } from './store.ts';
import type { CacheRules } from './storing.ts';

export type FillTools = InternalTools & {
  readonly store: CacheStore;
  readonly clock: { now(): number; after(ms: number, act: () => void): () => void };
};

/** What the requests for one key have in common. */
export type FillBlock = {
  readonly upstream: Responder;
  readonly rules: CacheRules;
  /** What the site says about the key; null for nothing. */
  readonly parts: KeyParts | null;
  readonly tools: FillTools;
  /** Answers from what is stored now; false: nothing fits. */
  serve(wanted: Wanted): boolean;
};
