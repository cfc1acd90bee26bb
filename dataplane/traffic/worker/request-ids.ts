import type { Random } from '../../../shared/runtime/random.ts';

/** As many ids share all but their last two digits. */
const BLOCK = 256;
const LAST_DIGITS = Array.from({ length: BLOCK }, (_, number) => number.toString(16).padStart(2, '0'));

/** Makes request ids that are unique across workers and processes: 16 random digits and a count of at least 8, in hexadecimal. */
export function requestIds(random: Random): () => string {
  const prefix = random.hex(8);
  let block = -1;
  let within = BLOCK - 1;
  let digits = '';
  return () => {
    within++;
    if (within === BLOCK) {
      within = 0;
      block++;
      digits = prefix + block.toString(16).padStart(6, '0');
    }
    return digits + LAST_DIGITS[within];
  };
}
