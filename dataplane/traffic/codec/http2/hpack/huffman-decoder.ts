import { CODE, CODE_BITS, EOS } from './huffman-code.ts';

/**
 * The decoder reads half a byte at a time. A state is an inner node of the code's tree: the bits of a symbol that hasn't ended yet. As no
 * code is shorter than half a byte, a step ends at most one symbol.
 */
const STEPS_PER_STATE = 16;
/** A step in bits: the next state in 0–7, the symbol in 8–15, and the flags below. */
const STATE = 0xff;
const SYMBOL_SHIFT = 8;
const EMITS = 1 << 16;
/** The string may end after this step: what remains is at most seven bits, all of them ones (RFC 7541 5.2). */
const MAY_END = 1 << 17;
/** The bits are those of EOS, which no string may contain (RFC 7541 5.2). */
const FAILS = 1 << 18;
const MOST_PADDING = 7;

/** Most bytes that `length` bytes of Huffman code decode to: no code is shorter than five bits. */
export const mostDecoded = (length: number): number => (length * 8) / 5;

/** For each inner node the child for a 0 and for a 1: the number of a node, or the complement of a symbol. The root is node 0. */
function tree(): Int16Array {
  // A binary tree has one leaf more than inner nodes.
  const children = new Int16Array(2 * EOS);
  let nodes = 1;
  for (let symbol = 0; symbol <= EOS; symbol++) {
    const code = CODE[symbol] as number;
    let node = 0;
    for (let bit = (CODE_BITS[symbol] as number) - 1; bit > 0; bit--) {
      const slot = node * 2 + ((code >>> bit) & 1);
      if (children[slot] === 0) children[slot] = nodes++;
      node = children[slot] as number;
    }
    children[node * 2 + (code & 1)] = ~symbol;
  }
  return children;
}

function steps(): Uint32Array {
  const children = tree();
  const mayEnd = new Set<number>();
  for (let node = 0, bits = 0; bits <= MOST_PADDING; bits++) {
    mayEnd.add(node);
    node = children[node * 2 + 1] as number;
  }
  const table = new Uint32Array(EOS * STEPS_PER_STATE);
  for (let step = 0; step < table.length; step++) {
    let node = Math.floor(step / STEPS_PER_STATE);
    let result = 0;
    for (let bit = 3; bit >= 0; bit--) {
      const next = children[node * 2 + ((step >>> bit) & 1)] as number;
      if (~next === EOS) result |= FAILS;
      else if (next < 0) result |= EMITS | (~next << SYMBOL_SHIFT);
      node = Math.max(0, next);
    }
    table[step] = result | node | (mayEnd.has(node) ? MAY_END : 0);
  }
  return table;
}

const STEPS = steps();

/**
 * Decodes the Huffman code in `source[from, to)` to `target` from index `at`, where there must be room for `mostDecoded` bytes.
 * @returns the end of what was written, or -1 if the code contains EOS or its padding is not valid (RFC 7541 5.2).
 */
export function decodeHuffman(source: Buffer, from: number, to: number, target: Buffer, at: number): number {
  let end = at;
  let step = MAY_END;
  for (let next = from; next < to; next++) {
    const byte = source[next] as number;
    step = STEPS[((step & STATE) << 4) | (byte >>> 4)] as number;
    if ((step & EMITS) !== 0) target[end++] = step >>> SYMBOL_SHIFT;
    if ((step & FAILS) !== 0) return -1;
    step = STEPS[((step & STATE) << 4) | (byte & 15)] as number;
    if ((step & EMITS) !== 0) target[end++] = step >>> SYMBOL_SHIFT;
    if ((step & FAILS) !== 0) return -1;
  }
  return (step & MAY_END) === 0 ? -1 : end;
}
