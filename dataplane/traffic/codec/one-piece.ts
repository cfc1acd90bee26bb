/**
 * A copy of text in Latin-1, for text that is kept. V8 keeps joined text as a tree of its parts, and a part together with the whole text that
 * it was taken from.
 */
export const inOnePiece = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');
