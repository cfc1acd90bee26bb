import { NAME } from '../../../../shared/name.ts';

/** A line of Cache-Status (RFC 9211), added to those of caches nearer to the origin. */
export const cacheStatus = (words: string): string => `Cache-Status: ${NAME}${words}\r\n`;
