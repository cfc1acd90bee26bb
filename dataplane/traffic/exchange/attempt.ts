/** One attempt to answer an exchange, by a target or by the proxy itself, as the client's side sees it. */
export interface Attempt {
  /** A piece of the request's body. @returns false when the client should pause; its `resumeBody` is called later. */
  body(buffer: Buffer, from: number, to: number): boolean;
  /** The request's body is complete. `trailers` are whole lines or empty. */
  bodyEnd(trailers: string): void;
  /** The client has read what it was sent; sending may continue. */
  resume(): void;
  /** The response is no longer needed. */
  cancel(): void;
}

/** How far an attempt had got when it failed. */
export type Progress = {
  /** Whether a byte of the request was written. */
  readonly written: boolean;
  /** Whether a byte of the response was read. */
  readonly answered: boolean;
  /** Whether the connection had served another request before. */
  readonly reused: boolean;
};

export const NOTHING_SENT: Progress = { written: false, answered: false, reused: false };
