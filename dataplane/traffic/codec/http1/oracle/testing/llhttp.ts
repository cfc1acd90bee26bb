import { createRequire } from 'node:module';

/** The parser of node:http in its strictest mode. Node exports it only to its own modules; this declares the part used here. */
interface NodeParser {
  [callback: number]: (...args: never[]) => unknown;
  initialize(kind: number, resource: object, maxHeadBytes: number, leniency: number, connections: null): void;
  execute(bytes: Buffer): number | Refusal;
  finish(): number | Refusal | undefined;
}
type Refusal = Error & { readonly code: string };
type NodeHttp = {
  readonly HTTPParser: {
    new (): NodeParser;
    readonly REQUEST: number;
    readonly RESPONSE: number;
    readonly kOnMessageBegin: number;
    readonly kOnHeaders: number;
    readonly kOnHeadersComplete: number;
    readonly kOnBody: number;
    readonly kOnMessageComplete: number;
    readonly kLenientNone: number;
  };
  readonly methods: readonly string[];
};

const { HTTPParser, methods }: NodeHttp = createRequire(import.meta.url)('node:_http_common');

/** The methods that llhttp knows. It refuses all others. */
export const KNOWN_METHODS: ReadonlySet<string> = new Set(methods);

/** Far beyond all of our limits, which have tests of their own. */
const MAX_HEAD = 1 << 24;
/** What `kOnHeadersComplete` returns for a response without a body. */
const SKIP_BODY = 1;
/** An error that has no code. */
const UNNAMED = 'an error';

/** One message as llhttp understood it. */
export type TheirMessage = {
  readonly major: number;
  readonly minor: number;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  /** Alternating names and values. */
  readonly fields: readonly string[];
  readonly persists: boolean;
  /** Latin-1. */
  body: string;
  trailers: readonly string[];
  complete: boolean;
};

export type TheirReading = {
  /** Every message whose head was accepted. */
  readonly messages: TheirMessage[];
  /** llhttp's error code, or null if it refused nothing. */
  error: string | null;
};

/** Reads whole inputs. Reused from input to input, because creating a parser is expensive. */
export class Llhttp {
  private readonly parser = new HTTPParser();
  private readonly kind: number;
  /** llhttp has its own numbering of methods. */
  private readonly methodNames = new Map<number, string>();
  private reading: TheirReading = { messages: [], error: null };
  private collected: string[] = [];
  private url = '';
  private headTaken = false;
  private bodyless = false;

  constructor(kind: 'request' | 'response') {
    this.kind = kind === 'request' ? HTTPParser.REQUEST : HTTPParser.RESPONSE;
    const { parser } = this;
    if (kind === 'request') this.learnMethods();
    parser[HTTPParser.kOnMessageBegin] = () => this.begin();
    parser[HTTPParser.kOnHeaders] = (fields: string[], url: string) => this.collect(fields, url);
    parser[HTTPParser.kOnHeadersComplete] = (
      major: number,
      minor: number,
      fields: string[] | undefined,
      method: number | undefined,
      url: string | undefined,
      status: number | undefined,
      _reason: string | undefined,
      _upgrade: boolean,
      persists: boolean,
    ) => {
      this.collect(fields ?? [], url ?? '');
      const message = {
        major,
        minor,
        method: this.methodNames.get(method ?? -1) ?? '',
        url: this.url,
        status: status ?? 0,
        fields: this.collected,
      };
      this.reading.messages.push({ ...message, persists, body: '', trailers: [], complete: false });
      this.headTaken = true;
      this.collected = [];
      return this.bodyless ? SKIP_BODY : 0;
    };
    parser[HTTPParser.kOnBody] = (bytes: Buffer) => {
      const message = this.reading.messages.at(-1);
      if (message !== undefined) message.body += bytes.toString('latin1');
    };
    parser[HTTPParser.kOnMessageComplete] = () => {
      const message = this.reading.messages.at(-1);
      if (message === undefined) return;
      message.trailers = this.collected;
      message.complete = true;
    };
  }

  private learnMethods(): void {
    for (const name of methods) {
      this.parser[HTTPParser.kOnHeadersComplete] = (_major: number, _minor: number, _fields: string[], method: number) => {
        this.methodNames.set(method, name);
        return 0;
      };
      this.start();
      this.parser.execute(Buffer.from(`${name} ${name === 'CONNECT' ? 'a:80' : '/'} HTTP/1.1\r\n\r\n`));
    }
  }

  private start(): void {
    this.parser.initialize(this.kind, {}, MAX_HEAD, HTTPParser.kLenientNone, null);
  }

  private begin(): void {
    this.collected = [];
    this.url = '';
    this.headTaken = false;
  }

  /** A head or trailers with many fields arrive in several pieces. */
  private collect(fields: readonly string[], url: string): void {
    this.collected = this.collected.length === 0 ? [...fields] : [...this.collected, ...fields];
    if (!this.headTaken) this.url += url;
  }

  /** `bodyless`: the responses are to HEAD. `ends`: the connection ends after the bytes. */
  read(bytes: Buffer, bodyless = false, ends = false): TheirReading {
    const reading: TheirReading = { messages: [], error: null };
    this.reading = reading;
    this.bodyless = bodyless;
    this.begin();
    this.start();
    let rest = bytes;
    while (rest.length > 0) {
      const used = this.parser.execute(rest);
      if (typeof used !== 'number') {
        reading.error = used.code;
        return reading;
      }
      rest = rest.subarray(used);
      if (rest.length === 0) break;
      // llhttp stops at an upgrade request and then doesn't report even an error in its body.
      if (reading.messages.at(-1)?.complete !== true) {
        reading.error = UNNAMED;
        return reading;
      }
      // We ignore this upgrade request (RFC 9110 7.8), so the bytes that follow are the next message.
      this.begin();
      this.start();
    }
    const end = ends ? this.parser.finish() : undefined;
    if (end instanceof Error) reading.error = end.code;
    return reading;
  }
}
