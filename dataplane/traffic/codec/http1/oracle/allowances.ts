import type { TheirMessage } from './llhttp.ts';
import type { OurMessage } from './reading.ts';

/** One message on which the two differ. */
export type Difference = {
  readonly our: OurMessage;
  /** Undefined where llhttp did not take the head. */
  readonly their: TheirMessage | undefined;
  readonly error: string | null;
  /** The message's bytes and all that follow, Latin-1. */
  readonly text: string;
};

export type Allowance = { readonly section: string; applies(difference: Difference): boolean };

/** What an unknown method is replaced by, to compare the rest of its message. */
export const KNOWN_METHOD = 'GET';

/**
 * Everything in which our codec differs from llhttp on the generous side, with the section that has it so.
 * What is not listed here is a mistake of ours.
 */
export const ALLOWANCES: Readonly<Record<string, Allowance>> = {
  /** A method is any token; llhttp knows a fixed set. The comparison goes on with a method that it knows. */
  unknownMethod: {
    section: 'RFC 9110 9.1',
    applies: () => false,
  },
  /** Proxy-Connection is no field of HTTP; llhttp obeys it like Connection. */
  proxyConnection: {
    section: 'RFC 9112 C.2.2',
    applies: ({ our, their }) => our.complete && their?.persists === false && has(their.fields, 'proxy-connection'),
  },
  /** Trailers say nothing about the connection, whose fields belong in the head; llhttp obeys them there too. */
  connectionTrailer: {
    section: 'RFC 9110 6.5.1',
    applies: ({ our, their }) => our.complete && their !== undefined && CONNECTION.some((name) => has(their.trailers, name)),
  },
  /** Interim answers never have a body, whatever their fields say; llhttp knows that of 100 to 103 alone. */
  interimBody: {
    section: 'RFC 9112 6.3, rule 1',
    applies: ({ our }) => isInterim(our) && (our.chunked || our.length > 0),
  },
  /** `close` speaks of the end of the final answer; llhttp reads no further than the interim one that says it. */
  interimClose: {
    section: 'RFC 9112 9.6',
    applies: ({ our, their }) => isInterim(our) && their?.persists === false,
  },
  /** White space after a value is no part of it, tabs included; llhttp does not know `chunked` before one. */
  tabAfterCoding: {
    section: 'RFC 9110 5.5',
    applies: ({ our, text }) => our.chunked && /^transfer-encoding:[ \t]*chunked[ \t]*\t[ \t]*\r\n/im.test(text),
  },
};

const isInterim = ({ status }: OurMessage): boolean => status >= 100 && status < 200;

const CONNECTION = ['connection', 'proxy-connection'];

/** Whether names and values in turn have `name`. */
const has = (fields: readonly string[], name: string): boolean => fields.some((field, at) => at % 2 === 0 && field.toLowerCase() === name);
