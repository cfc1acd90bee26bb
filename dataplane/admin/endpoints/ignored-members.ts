/** So many are named; more are counted only. */
const MOST_NAMED = 20;
const LONGEST_NAME = 64;

/**
 * The members of what was asked for that are not in what was taken: `colour`, `handles.0.basic_atuh`. Each is safe to stand in a
 * header and in a line of the log: foreign characters are question marks, and the list is short however much was ignored.
 */
export function ignoredMembers(asked: unknown, taken: unknown): string[] {
  const found: string[] = [];
  let more = 0;
  const note = (path: string) => {
    if (found.length < MOST_NAMED) found.push(path);
    else more++;
  };
  collect(asked, taken, '', note);
  return more === 0 ? found : [...found, `and ${more} more`];
}

/** Reading a route changes values and adds defaults; lists and objects stay where they are. */
function collect(asked: unknown, taken: unknown, path: string, note: (path: string) => void): void {
  if (typeof asked !== 'object' || asked === null || typeof taken !== 'object' || taken === null) return;
  for (const [name, value] of Object.entries(asked)) {
    const here = path + nameable(name);
    if (Object.hasOwn(taken, name)) collect(value, (taken as Record<string, unknown>)[name], `${here}.`, note);
    else note(here);
  }
}

function nameable(name: string): string {
  const shown = name.slice(0, LONGEST_NAME).replace(/[^\w-]/g, '?');
  return name.length > LONGEST_NAME ? `${shown}?` : shown || '?';
}
