/** The Date field of now as a whole line (RFC 9110 6.6.1), made once a second and not once an answer. */
let line = '';

export const httpDate = (): string => line;

/** Called by the worker's clock, once a second. `now` in ms since 1970. */
export function setHttpDate(now: number): void {
  line = `Date: ${new Date(now).toUTCString()}\r\n`;
}
