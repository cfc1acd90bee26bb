const IMF =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
const RFC850 =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d{2})-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
const ASCTIME =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/i;

/** The three forms of RFC 9110 5.6.7. @returns ms since 1970, or NaN. */
export function httpTime(text: string): number {
  const imf = IMF.exec(text);
  if (imf !== null) return Date.parse(`${imf[1]} ${imf[2]} ${imf[3]} ${imf[4]}:${imf[5]}:${imf[6]} GMT`);
  const old = RFC850.exec(text);
  if (old !== null) {
    // A year that seems to be more than 50 years in the future is in the past.
    const century = new Date().getUTCFullYear() - (new Date().getUTCFullYear() % 100);
    const year = century + Number(old[3]) - (Number(old[3]) > (new Date().getUTCFullYear() % 100) + 50 ? 100 : 0);
    return Date.parse(`${old[1]} ${old[2]} ${year} ${old[4]}:${old[5]}:${old[6]} GMT`);
  }
  const asctime = ASCTIME.exec(text);
  if (asctime !== null) return Date.parse(`${asctime[2]} ${asctime[1]} ${asctime[6]} ${asctime[3]}:${asctime[4]}:${asctime[5]} GMT`);
  return Number.NaN;
}
