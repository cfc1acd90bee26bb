import { CLASS, FIELD_VALUE } from '../../http1/chars.ts';
import { CODE, CODE_BITS, EOS } from './huffman-code.ts';

/**
 * The decoder reads a byte at a time. A state is an inner node of the code's tree: the bits of an incomplete symbol. Since no code is
 * shorter than five bits, a step completes at most two symbols. The bits of a step are: the next state in 0–7, the symbols in 8–15 and
 * 16–23, their number in 24–25, and the flags.
 */
const STATE = 0xff;
const FIRST_SHIFT = 8;
const SECOND_SHIFT = 16;
const COUNT_SHIFT = 24;
const COUNT = 3;
/** The string may end after this step: what remains is at most seven bits, all of them ones (RFC 7541 5.2). */
const MAY_END = 1 << 26;
/** The bits are those of EOS, which no string may contain (RFC 7541 5.2). */
const FAILS = 1 << 27;
/** One of the symbols may not be part of a field value (RFC 9110 5.5). */
const CONTROL = 1 << 28;
const MAX_PADDING = 7;
const STEPS_PER_STATE = 256;

/** What is added to the end that `decodeHuffman` returns if there is a symbol that may not be part of a field value (RFC 9110 5.5). */
export const HAS_CONTROL = 1 << 30;

/** How much room `length` bytes of Huffman code need: no code is shorter than five bits, and each step writes two symbols. */
export const roomToDecode = (length: number): number => Math.ceil((length * 8) / 5) + 2;

/** For each inner node the child for a 0 and for a 1: the number of a node, or the complement of a symbol. The root is node 0. */
function tree(): Int16Array {
  // A binary tree has one more leaf than inner nodes.
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

function buildSteps(): Int32Array {
  const children = tree();
  const mayEnd = new Set<number>();
  for (let node = 0, bits = 0; bits <= MAX_PADDING; bits++) {
    mayEnd.add(node);
    node = children[node * 2 + 1] as number;
  }
  const table = new Int32Array(EOS * STEPS_PER_STATE);
  for (let step = 0; step < table.length; step++) {
    let node = step >>> 8;
    let result = 0;
    let shift = FIRST_SHIFT;
    for (let bit = 7; bit >= 0; bit--) {
      const next = children[node * 2 + ((step >>> bit) & 1)] as number;
      node = next < 0 ? 0 : next;
      if (~next === EOS) result |= FAILS;
      else if (next < 0) {
        result += (~next << shift) + (1 << COUNT_SHIFT);
        shift = SECOND_SHIFT;
        if (((CLASS[~next] as number) & FIELD_VALUE) === 0) result |= CONTROL;
      }
    }
    table[step] = result | node | (mayEnd.has(node) ? MAY_END : 0);
  }
  return table;
}

/** 256 KB, which only a thread that decodes needs. */
let steps: Int32Array | null = null;

/**
 * Decodes the Huffman code in `source[from, to)` to `target` from index `at`, where there must be the room of `roomToDecode`.
 * @returns the end of what was written, with HAS_CONTROL added if that applies, or -1 if the code contains EOS or its padding is not valid
 * (RFC 7541 5.2).
 */
export function decodeHuffman(source: Buffer, from: number, to: number, target: Buffer, at: number): number {
  steps ??= buildSteps();
  const table = steps;
  let end = at;
  let step = MAY_END;
  let seen = 0;
  // Branch-free: both bytes are always written, and the next step overwrites those that are not symbols.
  for (let next = from; next < to; next++) {
    step = table[((step & STATE) << 8) | (source[next] as number)] as number;
    seen |= step;
    target[end] = step >>> FIRST_SHIFT;
    target[end + 1] = step >>> SECOND_SHIFT;
    end += (step >>> COUNT_SHIFT) & COUNT;
  }
  if ((step & MAY_END) === 0 || (seen & FAILS) !== 0) return -1;
  return (seen & CONTROL) === 0 ? end : end | HAS_CONTROL;
}
