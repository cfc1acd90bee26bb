/** Pieces that overwhelm a careless compiler when a file consists of nothing else. */
export const ODD_PIECES: readonly string[] = [
  '{',
  '}',
  '{ ',
  'a{',
  '"',
  '\\\n',
  '`` ',
  '😀 ',
  'a,',
  '{$',
  'x { ',
  '\0',
  '"\\q',
  '#',
  '<<A\n',
  '<<A\nA\n',
  '<<A ',
  '{a',
  'a.example { respond ok }\n',
  '(s) { ',
  '(s) { }\n',
  'import x\n',
  '{args[0]}',
  'a {\n header {$X:{}\n}\n',
];

/** A file of about this size (bytes) that consists of one piece. */
export const repeated = (piece: string, size: number): Buffer => Buffer.from(piece.repeat(Math.ceil(size / piece.length)));
