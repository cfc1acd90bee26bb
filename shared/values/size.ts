import { accepted, type Parsed, refused } from './parsed.ts';

const UNITS = { b: 1, kb: 1_024, mb: 1_048_576, gb: 1_073_741_824 } as const;

/** Reads a size as written in a config file: a whole number and `b`, `kb`, `mb` or `gb`, in multiples of 1,024. @returns bytes. */
export function parseSize(text: string): Parsed<number> {
  const [, digits = '', unit = ''] = /^(\d{1,9})(b|kb|mb|gb)$/i.exec(text) ?? [];
  if (digits === '') return refused('a size is a whole number followed by b, kb, mb or gb, such as 256kb');
  return accepted(Number(digits) * UNITS[unit.toLowerCase() as keyof typeof UNITS]);
}
