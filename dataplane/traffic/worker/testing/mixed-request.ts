import { setTimeout as delay } from 'node:timers/promises';
import { SampleRandom } from '../../codec/http1/oracle/testing/sample-random.ts';
import { BodyCheck, patternOf } from './body-pattern.ts';

/** What is requested, and from whom. */
export const KINDS = ['relayed', 'encoded', 'private', 'stored', 'file', 'uploaded', 'early', 'tunnel'] as const;
export type Kind = (typeof KINDS)[number];
/** Those of both sides of the proxy. */
export const PROTOCOLS = ['http1', 'http1-tls', 'http2', 'http2-tls'] as const;
export type Protocol = (typeof PROTOCOLS)[number];
export const CODINGS = ['gzip', 'br', 'zstd'] as const;
export type Coding = (typeof CODINGS)[number];

const COMBINATIONS = KINDS.length * PROTOCOLS.length * PROTOCOLS.length;
/** Has no factor in common with the number of combinations, so that requests at the same time are different and each combination has its turn. */
const STEP = 41;
/** One request in so many does not get its whole response. It is another combination each time. */
const CUT_EVERY = 7;

/** Around the limits from which on bytes are copied, buffered or split differently. */
const SMALL = [0, 100, 4_096, 4_097, 16_384];
const LARGE = [20_000, 65_535, 65_537, 150_000, 300_000, 800_000];
const PIECES = [300, 5_000, 20_000, 70_000, 300_000];
/** A body is sent in about twice as many pieces at most. */
const MAX_PIECES = 100;

/** How one side of a connection sends or reads a body: in pieces of which size, and when it pauses. */
export class Pace {
  private readonly random: SampleRandom;
  private readonly largest: number;
  private readonly slow: boolean;
  private pauses: number;

  /** `size` is that of the body, in bytes. */
  constructor(seed: number, size: number) {
    this.random = new SampleRandom(seed);
    this.largest = Math.max(this.random.pick(PIECES), Math.ceil(size / MAX_PIECES));
    this.slow = this.random.once(4);
    this.pauses = this.slow ? 12 : 4;
  }

  /** The number of bytes to send at once. */
  piece(): number {
    return 1 + this.random.below(this.largest);
  }

  /** Before a body. */
  async begin(): Promise<void> {
    if (this.random.once(this.slow ? 1 : 4)) await delay(this.random.below(this.slow ? 50 : 5));
  }

  /** Between two pieces of it. */
  async between(): Promise<void> {
    if (this.pauses === 0 || !this.random.once(this.slow ? 2 : 6)) return;
    this.pauses--;
    await delay(this.random.below(this.slow ? 10 : 4));
  }
}

/** What ends before a response is complete: the client's request, its whole connection, or the upstream's response. */
export const CUTS = ['request', 'connection', 'upstream'] as const;
export type Cut = (typeof CUTS)[number];

/** Test support: a request of a random kind, with bodies of its own in both directions. */
export class MixedRequest {
  readonly number: number;
  readonly kind: Kind;
  readonly client: Protocol;
  /** Of no meaning for a file. */
  readonly upstream: Protocol;
  /** The protocol with which the same is requested a second time, and whether at the same time. */
  readonly again: { readonly client: Protocol; readonly together: boolean };
  readonly coding: Coding;
  readonly framing: 'length' | 'pieces' | 'until-end';
  readonly cut: Cut | null;
  /** After how many bytes of the response it is cut; -1 is before its head. */
  readonly cutAt: number;
  /** The sizes of the bodies (bytes). */
  readonly size: number;
  readonly uploadSize: number | null;
  /** Whether the request says how long its upload is. */
  readonly sized: boolean;
  readonly paces: { readonly upload: Pace; readonly reading: Pace; readonly upstream: Pace; readonly receiving: Pace };
  /** What was wrong with the request as the upstream received it. */
  fault: Error | null = null;
  /** Whether the upstream has received the whole upload. */
  uploaded = false;
  private keptBody: Buffer | null = null;
  private keptUpload: Buffer | null = null;

  constructor(number: number, random: SampleRandom) {
    const combination = (number * STEP) % COMBINATIONS;
    const client = Math.floor(combination / KINDS.length / PROTOCOLS.length);
    const upstream = Math.floor(combination / KINDS.length);
    this.number = number;
    this.kind = KINDS[combination % KINDS.length] as Kind;
    this.client = PROTOCOLS[client] as Protocol;
    // Only HTTP/1.1 upgrades connections.
    this.upstream = PROTOCOLS[upstream % (this.kind === 'tunnel' ? 2 : PROTOCOLS.length)] as Protocol;
    // The cache has other responses for TLS.
    this.again = { client: PROTOCOLS[(client % 2) + 2 * random.below(2)] as Protocol, together: random.once(2) };
    this.coding = random.pick(CODINGS);
    const { kind } = this;
    // What ends with its connection is not stored, and is cut off if bytes of an upload are left in it.
    this.framing = random.pick(kind === 'stored' || kind === 'early' ? ['length', 'pieces'] : ['length', 'pieces', 'until-end']);
    // Small bodies are not encoded.
    this.size = random.pick(kind === 'encoded' || random.once(2) ? LARGE : SMALL);
    const uploads = kind === 'uploaded' || kind === 'early' || kind === 'tunnel';
    this.uploadSize = uploads ? random.pick(random.once(2) ? LARGE : SMALL) : null;
    this.sized = random.once(2);
    this.cut = number % CUT_EVERY === 0 ? this.cutBy(random) : null;
    this.cutAt = random.once(3) ? -1 : random.below(this.size + 1) - 1;
    const pace = (size: number | null): Pace => new Pace(random.below(2 ** 31), size ?? 0);
    const [down, up] = [this.size, this.uploadSize];
    this.paces = { upload: pace(up), reading: pace(down), upstream: pace(down), receiving: pace(up) };
  }

  private cutBy(random: SampleRandom): Cut {
    const { kind, framing, size } = this;
    // A response may end anywhere if its end is that of the connection.
    const byUpstream = framing !== 'until-end' && size > 0 && kind !== 'stored' && kind !== 'file' && kind !== 'tunnel';
    return random.pick(byUpstream ? CUTS : CUTS.slice(0, 2));
  }

  get path(): string {
    return this.kind === 'file' ? `/file/${this.number}` : `/${this.kind}/${this.upstream}/${this.number}`;
  }

  /** The number in a path. */
  static numberIn(path: string): number {
    return Number(path.slice(path.lastIndexOf('/') + 1));
  }

  get body(): Buffer {
    this.keptBody ??= patternOf(`response ${this.number}`, this.size);
    return this.keptBody;
  }

  get upload(): Buffer {
    this.keptUpload ??= patternOf(`upload ${this.number}`, this.uploadSize ?? 0);
    return this.keptUpload;
  }

  /** Gives back the memory of the bodies. */
  release(): void {
    this.keptBody = null;
    this.keptUpload = null;
  }

  checkBody(): BodyCheck {
    return new BodyCheck(`response ${this.number}`, this.body);
  }

  checkUpload(): BodyCheck {
    return new BodyCheck(`upload ${this.number}`, this.upload);
  }
}
