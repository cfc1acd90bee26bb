import { changedFields, notModifiedFields } from '../inject/page-head.ts';

const VARY = 'Vary: Accept-Encoding\r\n';

/** Field lines that also say that the response depends on Accept-Encoding. */
export function varyingFields(fields: string): string {
  const line = /^vary:.*$/im.exec(fields);
  if (line === null) return fields + VARY;
  const end = line.index + line[0].length;
  const isEmpty = line[0].trimEnd().endsWith(':');
  return `${fields.slice(0, end).trimEnd()}${isEmpty ? ' ' : ', '}Accept-Encoding${fields.slice(end)}`;
}

/** Field lines of an encoded response. Its tag is weak, because other codings have other bytes. */
export const codedFields = (fields: string, coding: string): string => `${changedFields(fields)}Content-Encoding: ${coding}\r\n`;

/** Field lines of a 304: if the client's response was encoded, so that its tag is weak, they are those of the encoded one. */
export function revalidatedFields(fields: string, ifNoneMatch: string | null, varies: boolean): string {
  const weakened = notModifiedFields(fields, ifNoneMatch);
  return weakened === fields || varies ? weakened : varyingFields(weakened);
}
