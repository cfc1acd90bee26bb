/** The current Date field as a complete line (RFC 9110 6.6.1), formatted once a second rather than once per response. */
let line = '';

export const httpDate = (): string => line;

/** Called once a second by the worker's clock. `now` is in ms since 1970. */
export function setHttpDate(now: number): void {
  line = `Date: ${new Date(now).toUTCString()}\r\n`;
}
