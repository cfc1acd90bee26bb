/** Bits of a hash; those that are left after the register's index decide its value. */
const HASH_BITS = 53;
/** A register that is this far above the lowest one is kept in a map. */
const OVERFLOW = 15;

/**
 * Estimates the number of distinct values of a stream in fixed memory (Flajolet et al., "HyperLogLog", 2007) with the estimator of Ertl,
 * "New cardinality estimation algorithms for HyperLogLog sketches", 2017, which has no biased range and no switch between formulas. The
 * standard error is 1.04 / √(2^precision): 0.41 % with 2^16 registers.
 *
 * A register takes four bits: its distance from the lowest register. The few that are 15 or more above it are kept in a map.
 * So 2^16 registers take 32 KB.
 */
export class HyperLogLog {
  private readonly precision: number;
  private readonly distances: Uint8Array;
  private readonly overflow = new Map<number, number>();
  /** How many registers have each value, which is all that the estimate needs. */
  private readonly histogram: Uint32Array;
  /** The value of the lowest register. */
  private lowest = 0;

  /** @param precision 4 to 16: there are 2^precision registers. */
  constructor(precision: number) {
    this.precision = precision;
    this.distances = new Uint8Array(2 ** precision / 2);
    this.histogram = new Uint32Array(HASH_BITS - precision + 2);
    this.histogram[0] = 2 ** precision;
  }

  /** @param hash uniformly distributed, 0 to 2^53 - 1. */
  add(hash: number): void {
    const low = hash >>> 0;
    const high = (hash - low) / 2 ** 32;
    const rest = low >>> this.precision;
    // The position of the first one among the bits above the index: 21 in `high`, the others in `rest`.
    const zeros = high === 0 ? 21 + Math.clz32(rest) - this.precision : Math.clz32(high) - 11;
    this.raise(low & (2 ** this.precision - 1), zeros + 1);
  }

  /** Merges `other`, which must have the same precision, into this sketch. */
  merge(other: HyperLogLog): void {
    for (let register = 0; register < 2 ** this.precision; register++) this.raise(register, other.value(register));
  }

  /** The estimated number of distinct values. */
  estimate(): number {
    const registers = 2 ** this.precision;
    const top = this.histogram.length - 1;
    let z = registers * tau(1 - this.registersAt(top) / registers);
    for (let value = top - 1; value >= 1; value--) z = (z + this.registersAt(value)) / 2;
    z += registers * sigma(this.registersAt(0) / registers);
    return registers ** 2 / (2 * Math.LN2 * z);
  }

  /** The bytes that `read` takes. */
  write(): Buffer {
    const overflow = Buffer.alloc(this.overflow.size * 3);
    for (const [at, [register, value]] of [...this.overflow].entries()) {
      overflow.writeUInt16LE(register, at * 3);
      overflow.writeUInt8(value, at * 3 + 2);
    }
    return Buffer.concat([Buffer.of(this.precision, this.lowest), this.distances, overflow]);
  }

  /** @throws RangeError if the bytes were not written by `write` of a sketch of this precision. */
  static read(bytes: Buffer, precision: number): HyperLogLog {
    const [written, lowest = 0] = bytes;
    if (written !== precision) throw new RangeError(`a sketch of precision ${written} instead of ${precision}`);
    const sketch = new HyperLogLog(precision);
    const overflowAt = 2 + sketch.distances.length;
    const values = new Map<number, number>();
    for (let at = overflowAt; at < bytes.length; at += 3) values.set(bytes.readUInt16LE(at), bytes.readUInt8(at + 2));
    for (let register = 0; register < 2 ** precision; register++) {
      const distance = (bytes.readUInt8(2 + (register >>> 1)) >>> ((register & 1) * 4)) & 0xf;
      const value = distance === OVERFLOW ? values.get(register) : lowest + distance;
      if (value === undefined || value >= sketch.histogram.length) throw new RangeError('a sketch with a damaged register');
      sketch.raise(register, value);
    }
    return sketch;
  }

  private registersAt(value: number): number {
    return this.histogram[value] as number;
  }

  private value(register: number): number {
    const distance = this.distance(register);
    return this.lowest + (distance === OVERFLOW ? (this.overflow.get(register) as number) - this.lowest : distance);
  }

  private raise(register: number, value: number): void {
    const before = this.value(register);
    if (value <= before) return;
    this.set(register, value);
    this.histogram[before] = this.registersAt(before) - 1;
    this.histogram[value] = this.registersAt(value) + 1;
    while (this.registersAt(this.lowest) === 0) this.raiseLowest();
  }

  private set(register: number, value: number): void {
    const distance = Math.min(value - this.lowest, OVERFLOW);
    if (distance === OVERFLOW) this.overflow.set(register, value);
    const shift = (register & 1) * 4;
    const pair = this.distances[register >>> 1] as number;
    this.distances[register >>> 1] = (pair & (0xf0 >>> shift)) | (distance << shift);
  }

  private distance(register: number): number {
    return ((this.distances[register >>> 1] as number) >>> ((register & 1) * 4)) & 0xf;
  }

  /** No register has the lowest value any more: every distance shrinks by one. */
  private raiseLowest(): void {
    this.lowest++;
    for (let register = 0; register < 2 ** this.precision; register++) {
      const distance = this.distance(register);
      if (distance !== OVERFLOW) this.set(register, this.lowest - 1 + distance);
    }
    for (const [register, value] of [...this.overflow]) {
      if (value - this.lowest >= OVERFLOW) continue;
      this.overflow.delete(register);
      this.set(register, value);
    }
  }
}

/** Ertl 2017, algorithm 6: x + Σ x^(2^k) · 2^(k-1), the part of registers that were never raised. */
function sigma(x: number): number {
  if (x === 1) return Number.POSITIVE_INFINITY;
  let [sum, power, weight, before] = [x, x, 1, -1];
  while (sum !== before) {
    before = sum;
    power *= power;
    sum += power * weight;
    weight *= 2;
  }
  return sum;
}

/** Ertl 2017, algorithm 6: (1 - x - Σ (1 - x^(2^-k))² · 2^-k) / 3, the part of registers at their maximum. */
function tau(x: number): number {
  if (x === 0 || x === 1) return 0;
  let [sum, root, weight, before] = [1 - x, x, 1, -1];
  while (sum !== before) {
    before = sum;
    root = Math.sqrt(root);
    weight /= 2;
    sum -= (1 - root) ** 2 * weight;
  }
  return sum / 3;
}
