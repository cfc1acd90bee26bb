import type { Random } from '../../../shared/runtime/random.ts';

/** The number of ids that share all but their last two digits. */
export const BLOCK = 256;
/** The last two digits of the ids of a block. */
export const LAST_DIGITS: readonly string[] = Array.from({ length: BLOCK }, (_, number) => number.toString(16).padStart(2, '0'));

/** Makes request ids that are unique across workers and processes: 16 random digits and a count of at least 8, in hexadecimal. */
export class RequestIds {
  private readonly prefix: string;
  private blocks = 0;
  private digits = '';
  private used = BLOCK;

  constructor(random: Random) {
    this.prefix = random.hex(8);
  }

  /** The common digits of a new block of ids: all but the last two. Each block is handed out once. */
  block(): string {
    return this.prefix + (this.blocks++).toString(16).padStart(6, '0');
  }

  /** A single id. */
  readonly next = (): string => {
    if (this.used === BLOCK) {
      this.used = 0;
      this.digits = this.block();
    }
    return this.digits + LAST_DIGITS[this.used++];
  };
}
