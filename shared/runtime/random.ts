import { randomBytes } from 'node:crypto';

/** The source of randomness. */
export interface Random {
  /** `size` unpredictable bytes. */
  bytes(size: number): Buffer;
  /** `size` unpredictable bytes as lower-case hex. */
  hex(size: number): string;
  /** A number from 0 up to, not including, 1; for jitter, never for secrets. */
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (size) => randomBytes(size),
  hex: (size) => randomBytes(size).toString('hex'),
  fraction: () => Math.random(),
};
