import { accepted, type Parsed, refused } from '../../values/parsed.ts';

/** Content codings (RFC 9110 8.4.1, RFC 7932, RFC 8878), in the order of preference if a client accepts several equally. */
export const FORMATS = ['zstd', 'br', 'gzip'] as const;
export type FormatName = (typeof FORMATS)[number];

export type Format = { name: FormatName; level?: number | undefined };

/**
 * The highest levels. An encoder of a higher one takes ten times the memory or more (brotli 9: 32 MB, zstd 12: 41 MB), and there is one
 * for each response that is being sent.
 */
export const MAX_LEVEL: { readonly [Name in FormatName]: number } = { zstd: 9, br: 6, gzip: 9 };

/** Caddy's names for the levels of zstd. */
const ZSTD_LEVELS: ReadonlyMap<string, number> = new Map([
  ['fastest', 1],
  ['default', 3],
  ['better', 7],
  ['best', 9],
]);

/** Reads a level as written in a config file. */
export function parseLevel(name: FormatName, text: string): Parsed<number> {
  const named = name === 'zstd' ? ZSTD_LEVELS.get(text) : undefined;
  const level = named ?? (/^\d{1,2}$/.test(text) ? Number(text) : 0);
  if (level >= 1 && level <= MAX_LEVEL[name]) return accepted(level);
  const names = name === 'zstd' ? `, or ${[...ZSTD_LEVELS.keys()].join(', ')}` : '';
  return refused(`a level of ${name} is a number from 1 to ${MAX_LEVEL[name]}${names}`);
}

/** A media type, which may begin or end with `*`. */
export function parseTypePattern(text: string): Parsed<string> {
  const pattern = text.toLowerCase();
  if (/^\*?[a-z0-9!#$&^_.+/-]*\*?$/.test(pattern) && pattern !== '' && pattern.length <= 100) return accepted(pattern);
  return refused('write a media type such as application/json, which may begin or end with *');
}
