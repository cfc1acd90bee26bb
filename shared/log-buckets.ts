/** Each bucket ends 4 % above the one before, so a value read from its middle is at most 2 % off. */
const GROWTH = Math.log(1.04);
/** The upper end of bucket 0; values at or below it count as 0. */
const MIN = 0.1;

/** The logarithmic bucket of a value of 0 or more: a millisecond is in bucket 59, a minute (60,000 ms) in bucket 340. */
export const bucketOf = (value: number): number => (value <= MIN ? 0 : Math.ceil(Math.log(value / MIN) / GROWTH));

/** The value that stands for a bucket: its geometric middle. */
export const valueIn = (bucket: number): number => (bucket === 0 ? 0 : MIN * Math.exp((bucket - 0.5) * GROWTH));
