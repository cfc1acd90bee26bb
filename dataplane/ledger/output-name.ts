/** Where lines of the access log go: a file, or standard output (null). `follows`: whether the path may be a symbolic link. */
export type OutputName = { readonly path: string | null; readonly follows: boolean };

/** How workers announce an output to the thread that writes it. */
export const announcementOf = ({ path, follows }: OutputName): string => (path === null ? '-' : `${follows ? 'f' : 'n'}${path}`);

export const readAnnouncement = (text: string): OutputName =>
  text === '-' ? { path: null, follows: false } : { path: text.slice(1), follows: text.startsWith('f') };
