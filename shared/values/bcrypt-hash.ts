import { accepted, type Branded, type Parsed, refused } from './parsed.ts';

/** A bcrypt hash as `$2b$` or `$2a$`. */
export type BcryptHash = Branded<string, 'BcryptHash'>;

/** Each step doubles the time; above this a comparison would take too long. */
const MAX_COST = 16;
const MIN_COST = 4;
const HASH = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

/** Reads a bcrypt hash. `$2y$`, as written by PHP and htpasswd, means the same as `$2b$`. */
export function parseBcryptHash(text: string): Parsed<BcryptHash> {
  const cost = Number(HASH.exec(text)?.[1] ?? -1);
  if (cost < 0)
    return refused('not a bcrypt hash (60 characters, starting with $2a$, $2b$ or $2y$): create one with "sluice hash-password"');
  if (cost < MIN_COST || cost > MAX_COST) return refused(`the cost of a bcrypt hash must be from ${MIN_COST} to ${MAX_COST}, not ${cost}`);
  return accepted(text.replace('$2y$', '$2b$') as BcryptHash);
}

/** The cost of the hash: 2 to the power of this many rounds. */
export const costOf = (hash: string): number => Number(hash.slice(4, 6));
