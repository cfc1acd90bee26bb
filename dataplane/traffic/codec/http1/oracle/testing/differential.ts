import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { KNOWN_METHOD } from './allowances.ts';
import { AnswerReader } from './answer-reader.ts';
import { disagreement } from './disagreement.ts';
import { KNOWN_METHODS, Llhttp } from './llhttp.ts';
import { type Direction, type MessageReader, type OurMessage, type OurReading, readCut } from './reading.ts';
import { RequestReader } from './request-reader.ts';
import { randomCuts } from './sample-mutation.ts';
import { SampleRandom } from './sample-random.ts';
import { strictForm } from './strict-form.ts';

/** Inputs per direction in an ordinary run. */
export const INPUTS = 500_000;
/** Inputs of up to this many bytes are split at every place, one split at a time. */
const SHORT = 48;

/** Compares our codec with llhttp, one input after the other, in one direction. */
export class Differential {
  /** Inputs with at least one accepted message, and inputs with something refused. */
  accepted = 0;
  refused = 0;
  /** Responses that only we accept, because they mean the same as others that both accept. */
  tolerated = 0;
  private readonly role: Direction;
  private readonly llhttp: Llhttp;

  constructor(role: Direction) {
    this.role = role;
    this.llhttp = new Llhttp(role);
  }

  /**
   * Checks one input: the whole against llhttp, and in pieces against itself. `bodyless`: it is the response to a HEAD request.
   * @throws an error that shows the input and what is wrong.
   */
  check(text: string, random: SampleRandom, bodyless = false): void {
    const bytes = Buffer.from(text, 'latin1');
    const ours = this.read(bytes, [], bodyless);
    if (ours.messages.some(({ complete }) => complete)) this.accepted++;
    if (ours.fault !== null) this.refused++;
    const wrong = this.compare(text, bytes, ours, bodyless);
    if (wrong !== null) throw new Error(`${JSON.stringify(text)}\n${wrong}\nours: ${JSON.stringify(ours)}`);
    if (bytes.length <= SHORT) this.checkCuts(bytes, ours, bodyless);
    else if (random.once(3)) this.checkCut(bytes, ours, randomCuts(bytes.length, random), bodyless);
  }

  /** Like `check`, for an input of any length: split at every place, and into single bytes. */
  checkEverywhere(text: string, random: SampleRandom): void {
    this.check(text, random);
    const bytes = Buffer.from(text, 'latin1');
    const ours = this.read(bytes, [], false);
    this.checkCuts(bytes, ours, false);
    this.checkCut(bytes, ours, [...bytes.keys()], false);
  }

  private checkCuts(bytes: Buffer, ours: OurReading, bodyless: boolean): void {
    for (let cut = 1; cut < bytes.length; cut++) this.checkCut(bytes, ours, [cut], bodyless);
  }

  /** `bytes` are those of `text`. */
  private compare(text: string, bytes: Buffer, ours: OurReading, bodyless: boolean): string | null {
    const theirs = this.llhttp.read(bytes, bodyless, this.role === 'response');
    const wrong = disagreement(text, ours, theirs, this.role);
    if (this.role === 'response') return wrong === null ? null : this.compareStrict(text, ours, bodyless, wrong);
    const next = ours.messages[theirs.messages.length];
    if (next === undefined) return wrong;
    // llhttp can't read this part of a request line. Everything else about the message is still compared.
    const known = KNOWN_METHODS.has(next.method) ? escapedLine(text, next.offset) : knownMethod(text, next);
    if (known === text) return wrong;
    const knownBytes = Buffer.from(known, 'latin1');
    const usual = this.read(knownBytes, [], bodyless);
    if (KNOWN_METHODS.has(next.method) && !sameReading(usual, ours, OFFSETS)) return `with escapes it is read as ${JSON.stringify(usual)}`;
    return this.compare(known, knownBytes, usual, bodyless);
  }

  /** A form that we tolerate in upstreams and llhttp refuses. It must mean the same as the usual form, to us and to llhttp. */
  private compareStrict(text: string, ours: OurReading, bodyless: boolean, wrong: string): string | null {
    const strict = strictForm(text, ours.messages);
    if (strict === text) return wrong;
    this.tolerated++;
    const bytes = Buffer.from(strict, 'latin1');
    const usual = this.read(bytes, [], bodyless);
    if (!sameReading(usual, ours, OFFSETS)) return `in the usual form it is read as ${JSON.stringify(usual)}`;
    return disagreement(strict, usual, this.llhttp.read(bytes, bodyless, true), this.role);
  }

  private checkCut(bytes: Buffer, whole: OurReading, cuts: readonly number[], bodyless: boolean): void {
    const cut = this.read(bytes, cuts, bodyless);
    if (sameReading(cut, whole)) return;
    throw new Error(`${JSON.stringify(bytes.toString('latin1'))} cut at ${cuts.join(', ')}\n${JSON.stringify([cut, whole])}`);
  }

  private read(bytes: Buffer, cuts: readonly number[], bodyless: boolean): OurReading {
    if (this.role === 'request') return readCut(new RequestReader(), bytes, cuts);
    const reader: MessageReader & { end(): void } = new AnswerReader(bodyless ? 'HEAD' : 'GET');
    readCut(reader, bytes, cuts);
    reader.end();
    return reader.reading;
  }
}

const knownMethod = (text: string, { offset, method }: OurMessage): string =>
  text.slice(0, offset) + KNOWN_METHOD + text.slice(offset + method.length);

/** Escapes the bytes beyond ASCII in the request line that begins at `offset` (RFC 3986 2.1). */
function escapedLine(text: string, offset: number): string {
  const end = text.indexOf('\r\n', offset);
  const line = [...text.slice(offset, end)].map((char) =>
    char < '\x80' ? char : `%${Buffer.from(char, 'latin1').toString('hex').toUpperCase()}`,
  );
  return text.slice(0, offset) + line.join('') + text.slice(end);
}

/** Where messages begin and end. The offsets shift if something before them is written in another form. */
const OFFSETS: ReadonlySet<string> = new Set(['offset', 'bodyOffset']);

/** Pieces may be refused for a different reason, since part of the input is seen earlier. What is accepted must be the same. */
function sameReading(a: OurReading, b: OurReading, but: ReadonlySet<string> | null = null): boolean {
  if ((a.fault === null) !== (b.fault === null) || a.messages.length !== b.messages.length) return false;
  for (const [at, message] of a.messages.entries()) {
    const other = b.messages[at];
    for (const key in message)
      if (message[key as keyof OurMessage] !== other?.[key as keyof OurMessage] && but?.has(key) !== true) return false;
  }
  return true;
}

/**
 * The inputs of a test: randomness with a seed that SLUICE_FUZZ_SEED sets and the test prints. With SLUICE_FUZZ=N, each direction has N
 * inputs instead of INPUTS, and everything else scales with it. An ordinary run always has the same inputs; a long one has new ones each
 * time. `failed` is the error of the input that was drawn last.
 */
export function* inputsOf(t: TestContext, inputs: number): Generator<{ readonly random: SampleRandom; failed(error: unknown): Error }> {
  const long = process.env.SLUICE_FUZZ;
  const count = long === undefined ? inputs : Math.ceil((inputs / INPUTS) * Number(long));
  const seed = Number(process.env.SLUICE_FUZZ_SEED ?? (long === undefined ? 1 : randomInt(2 ** 31)));
  t.diagnostic(`${count} inputs, SLUICE_FUZZ_SEED=${seed}`);
  for (let input = 0; input < count; input++) {
    const failed = (error: unknown): Error =>
      new Error(`input ${input} of SLUICE_FUZZ_SEED=${seed}: ${error instanceof Error ? error.message : error}`, { cause: error });
    yield { random: new SampleRandom(Math.imul(seed, 0x9e3779b1) + input), failed };
  }
}

/** Runs `check` on each input. */
export function fuzz(t: TestContext, inputs: number, check: (random: SampleRandom) => void): void {
  for (const { random, failed } of inputsOf(t, inputs)) {
    try {
      check(random);
    } catch (error) {
      throw failed(error);
    }
  }
}
