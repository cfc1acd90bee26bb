/** How many sites a warning names. */
const MAX_NAMED = 3;

/** Names the sites that a warning is about, with the verb for one of them and for several. */
export function named(domains: readonly string[], [one, several]: readonly [string, string]): string {
  const { length } = domains;
  const some = domains.slice(0, MAX_NAMED).join(', ');
  return length === 1 ? `the site ${some} ${one}` : `${length} sites (${some}${length > MAX_NAMED ? ', …' : ''}) ${several}`;
}
