import type { TheirMessage } from './llhttp.ts';
import type { OurMessage } from './reading.ts';

/** One message that the two parsers read differently. */
export type Difference = {
  readonly our: OurMessage;
  /** Undefined if llhttp refused the head. */
  readonly their: TheirMessage | undefined;
  readonly error: string | null;
  /** The bytes of the message and everything after it, Latin-1. */
  readonly text: string;
};

export type Allowance = { readonly section: string; applies(difference: Difference): boolean };

/** Replaces an unknown method, so that the rest of its message can be compared. */
export const KNOWN_METHOD = 'GET';

/**
 * Every case in which our codec accepts more than llhttp, with the section of the RFC that requires it. A case that is not in this list is
 * a bug of ours.
 */
export const ALLOWANCES: Readonly<Record<string, Allowance>> = {
  /** A method is any token, but llhttp knows a fixed set. The comparison continues with a method that it knows. */
  unknownMethod: {
    section: 'RFC 9110 9.1',
    applies: () => false,
  },
  /** Proxy-Connection is not a field of HTTP; llhttp obeys it like Connection. */
  proxyConnection: {
    section: 'RFC 9112 C.2.2',
    applies: ({ our, their }) => our.complete && their?.persists === false && has(their.fields, 'proxy-connection'),
  },
  /** Trailers can't control the connection, because its fields belong in the head. llhttp obeys them in trailers too. */
  connectionTrailer: {
    section: 'RFC 9110 6.5.1',
    applies: ({ our, their }) => our.complete && their !== undefined && CONNECTION.some((name) => has(their.trailers, name)),
  },
  /** Interim responses never have a body, regardless of their fields. llhttp applies this only to 100 to 103. */
  interimBody: {
    section: 'RFC 9112 6.3, rule 1',
    applies: ({ our }) => isInterim(our) && (our.chunked || our.length > 0),
  },
  /** `close` refers to the end of the final response; llhttp stops after the interim response that carries it. */
  interimClose: {
    section: 'RFC 9112 9.6',
    applies: ({ our, their }) => isInterim(our) && their?.persists === false,
  },
  /** White space after a value is not part of it, including tabs. llhttp does not recognize `chunked` followed by a tab. */
  tabAfterCoding: {
    section: 'RFC 9110 5.5',
    applies: ({ our, text }) => our.chunked && /^transfer-encoding:[ \t]*chunked[ \t]*\t[ \t]*\r\n/im.test(text),
  },
};

const isInterim = ({ status }: OurMessage): boolean => status >= 100 && status < 200;

const CONNECTION = ['connection', 'proxy-connection'];

/** Whether `name` is among these alternating names and values. */
const has = (fields: readonly string[], name: string): boolean => fields.some((field, at) => at % 2 === 0 && field.toLowerCase() === name);
