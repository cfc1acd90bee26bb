/** Numbers, times and names as the page shows them. */

const LOCALE = 'en';
const whole = new Intl.NumberFormat(LOCALE);
const short = new Intl.NumberFormat(LOCALE, { notation: 'compact', maximumFractionDigits: 1 });
const countries = new Intl.DisplayNames(LOCALE, { type: 'region', fallback: 'code' });

/** Below 10,000 exact, then 12.3K. */
export const count = (value: number): string => (value < 10_000 ? whole.format(value) : short.format(value));
export const exact = (value: number): string => whole.format(value);

/** A rate: two significant digits below 10. */
export const rate = (value: number): string =>
  value >= 10 || value === 0 ? count(Math.round(value)) : value.toPrecision(value < 1 ? 1 : 2);

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** Decimal units. */
export function bytes(value: number): string {
  let unit = 0;
  let scaled = value;
  while (scaled >= 999.5 && unit < UNITS.length - 1) {
    scaled /= 1_000;
    unit++;
  }
  return `${unit === 0 || scaled >= 99.5 ? Math.round(scaled) : scaled.toPrecision(scaled >= 9.95 ? 3 : 2)} ${UNITS[unit]}`;
}

/** From ms. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms === 0 ? 0 : ms.toPrecision(2)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 9_950 ? 2 : 1)} s`;
  return span(ms / 1_000);
}

/** From seconds, in one or two units. */
export function span(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${Math.floor(seconds)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return days < 10 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** Only a whole is 100%, and only nothing 0%. */
export const percent = (share: number): string => {
  const value = share * 100;
  if (value === 0) return '0%';
  if (value < 0.1) return '<0.1%';
  if (value >= 99.95 && value < 100) return '>99.9%';
  return `${value < 9.95 || (value >= 99.5 && value < 100) ? value.toFixed(1) : Math.round(value)}%`;
};

/** `20 Nov 2026, 14:03`, in the visitor's zone. A line may end only before the time. */
export const moment = (time: string | number): string =>
  new Date(time)
    .toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' })
    .replaceAll(/ (?!\d\d:)/g, '\u00a0');

export const clockTime = (time: string | number): string => new Date(time).toLocaleTimeString('en-GB');

/** Of a point of a series: hours in the visitor's zone, days in UTC, in which they are kept. */
export const pointTime = (time: string | number, step: 'hour' | 'day'): string =>
  step === 'hour'
    ? new Date(time).toLocaleString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
    : new Date(time).toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });

/** `DE` → Germany. */
export const country = (code: string): string => {
  try {
    return countries.of(code) ?? code;
  } catch {
    return code;
  }
};

/** A character beyond ASCII in UTF-8, escaped for a URL. */
const ESCAPED = /%[c-f][0-9a-f](?:%[89ab][0-9a-f]){1,3}/gi;

/** A path as browsers show it. Escapes of ASCII characters stay, because a path with the characters themselves may be another. */
export const readablePath = (path: string): string =>
  path.replace(ESCAPED, (escaped) => {
    try {
      return decodeURIComponent(escaped);
    } catch {
      return escaped;
    }
  });

/**
 * Control characters, and those that are invisible or change the direction of text, as their code points: the author of a name must not be
 * able to have it read as another (Unicode Technical Report 36, section 2.10).
 */
export const visible = (text: string): string =>
  text.replace(
    /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu,
    (character) => `‹U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}›`,
  );

/** The relative change; null if there was nothing before. */
export const change = (now: number, before: number): number | null => (before === 0 ? null : (now - before) / before);
