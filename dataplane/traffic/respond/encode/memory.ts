import { withinMemory } from '../../../../shared/runtime/thread-memory.ts';

/** Most memory of all encoders of a worker (bytes): 256 streams of gzip, 85 of brotli or of zstd at their default levels. */
const MAX_MEMORY = 134_217_728;
/** They have at most this part of the memory of a worker. */
const PART = 8;

/** The memory of the encoders of a worker. If none is left, a response is sent unencoded, and a compressed page unchanged. */
export class EncoderMemory {
  private readonly most: number;
  private used = 0;

  constructor(most = MAX_MEMORY) {
    this.most = most;
  }

  get isFree(): boolean {
    return this.used === 0;
  }

  has(bytes: number): boolean {
    // One encoder at a time works at every level, however little memory there is.
    return this.isFree || this.used + bytes <= withinMemory(this.most, PART);
  }

  /** @returns a function that releases the bytes, once. */
  reserve(bytes: number): () => void {
    this.used += bytes;
    let taken = bytes;
    return () => {
      this.used -= taken;
      taken = 0;
    };
  }
}

/** The memory of this worker. */
export const ENCODER_MEMORY = new EncoderMemory();
