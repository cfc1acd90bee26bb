/** Whether two lists hold the same objects in the same order. */
export const isSameList = <T>(a: readonly T[], b: readonly T[]): boolean => a.length === b.length && a.every((one, at) => one === b[at]);
