import type { InternalTools } from '../../exchange/internal-exchange.ts';
import type { Responder } from '../../exchange/responder.ts';
import type { KeyParts } from './key-parts.ts';
import type { CacheLookup } from './reader.ts';
import type { CacheStore } from './store.ts';
import type { CacheRules } from './storing.ts';

export type FillTools = InternalTools & {
  readonly store: CacheStore;
  readonly clock: { now(): number; after(ms: number, act: () => void): () => void };
};

/** What all requests for one key have in common. */
export type FillBlock = {
  readonly upstream: Responder;
  readonly rules: CacheRules;
  /** The site's settings for the key; null if it has none. */
  readonly parts: KeyParts | null;
  readonly tools: FillTools;
  /** Answers with an entry that is stored now; false if none matches. */
  serve(wanted: CacheLookup): boolean;
};
