import type { OwnAnswer } from './own-answer.ts';

/** How many more bytes a request's body of unknown length may have, and the answer to a longer one. */
export type BodyLimit = { left: number; readonly tooLarge: OwnAnswer };
