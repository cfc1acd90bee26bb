import { accepted, type Parsed, refused } from './parsed.ts';

/** Invalid codes that are often written, each with the intended one (ISO 3166-1 alpha-2). */
const MISTAKEN: Readonly<Record<string, string>> = { UK: 'GB', EL: 'GR' };

/** Reads the two letters of a country's code (ISO 3166-1 alpha-2), in either case. @returns them in upper case. */
export function parseCountry(text: string): Parsed<string> {
  const code = text.toUpperCase();
  const meant = MISTAKEN[code];
  if (meant !== undefined) return refused(`no country has this code: write ${meant}`);
  if (!/^[A-Z]{2}$/.test(code) || nameOf(code) === code) return refused('write the two-letter code of a country, for example DE');
  return accepted(code);
}

/** ICU knows the region codes in use; it returns the code itself for others. */
const nameOf = (code: string): string => names().of(code) ?? code;

let displayNames: Intl.DisplayNames | undefined;
const names = (): Intl.DisplayNames => {
  displayNames ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });
  return displayNames;
};
