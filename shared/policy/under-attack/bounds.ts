/** Leading zero bits of a hash: each doubles the work. */
export const DIFFICULTY = { least: 8, usual: 16, most: 24 } as const;
/** Seconds for which a solved challenge counts. */
export const CLEARANCE = { least: 60, usual: 3_600, most: 604_800 } as const;
