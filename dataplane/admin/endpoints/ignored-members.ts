/** How many names are listed; the rest are only counted. */
const MAX_NAMED = 20;
const LONGEST_NAME = 64;

/**
 * The members of the input that were ignored: `colour`, `handles.0.basic_atuh`. Each is safe in a header and in a line of the
 * log: unusual characters become question marks, and the list is short however much was ignored.
 */
export function ignoredMembers(input: unknown, accepted: unknown): string[] {
  const found: string[] = [];
  let more = 0;
  const note = (path: string) => {
    if (found.length < MAX_NAMED) found.push(path);
    else more++;
  };
  collect(input, accepted, '', note);
  return more === 0 ? found : [...found, `and ${more} more`];
}

/** Reading a route changes values and adds defaults, but keeps the structure of lists and objects. */
function collect(input: unknown, accepted: unknown, path: string, note: (path: string) => void): void {
  if (typeof input !== 'object' || input === null || typeof accepted !== 'object' || accepted === null) return;
  for (const [name, value] of Object.entries(input)) {
    const here = path + nameable(name);
    if (Object.hasOwn(accepted, name)) collect(value, (accepted as Record<string, unknown>)[name], `${here}.`, note);
    else note(here);
  }
}

function nameable(name: string): string {
  const shown = name.slice(0, LONGEST_NAME).replace(/[^\w-]/g, '?');
  return name.length > LONGEST_NAME ? `${shown}?` : shown || '?';
}
