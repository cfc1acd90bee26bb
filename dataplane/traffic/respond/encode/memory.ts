/** Most memory of all encoders of a worker (bytes): 256 streams of gzip, 85 of brotli or of zstd at their default levels. */
const MAX_MEMORY = 134_217_728;

/** The memory of the encoders of a worker. If none is left, a response is sent unencoded, and a compressed page unchanged. */
export class EncoderMemory {
  private readonly most: number;
  private free: number;

  constructor(most = MAX_MEMORY) {
    this.most = most;
    this.free = most;
  }

  get isFree(): boolean {
    return this.free === this.most;
  }

  has(bytes: number): boolean {
    return this.free >= bytes;
  }

  /** @returns a function that releases the bytes, once. */
  reserve(bytes: number): () => void {
    this.free -= bytes;
    let taken = bytes;
    return () => {
      this.free += taken;
      taken = 0;
    };
  }
}

/** The memory of this worker. */
export const ENCODER_MEMORY = new EncoderMemory();
