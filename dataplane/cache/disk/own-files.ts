/*
 * What the cache has in its folder. That may be on a disk with other files, which are left alone.
 */

/** Purges from before the affected files were indexed, and those of a process that this one took over from. */
export const OWN_JOURNAL = 'purges';
export const NOTED_JOURNAL = 'purges-of-predecessor';
/** The folders of all formats, and what was moved aside to be deleted. */
export const FOLDERS = /^(?:v\d+|old-[0-9a-f]{16}|old-\d+-\d+-v\d+)$/;

export const isOwnFile = (name: string): boolean => name === OWN_JOURNAL || name === NOTED_JOURNAL || FOLDERS.test(name);
