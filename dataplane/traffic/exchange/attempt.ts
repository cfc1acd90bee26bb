/** One try to have an exchange answered, by a target or by ourselves, as the client's side sees it. */
export interface Attempt {
  /** A piece of the request's body. @returns false when the upstream should be given time; `resumeBody` of the client follows. */
  body(buffer: Buffer, from: number, to: number): boolean;
  /** The request's body is whole. `trailers` are whole lines or empty. */
  bodyEnd(trailers: string): void;
  /** The client has taken what it got: go on. */
  resume(): void;
  /** Nobody waits for the answer any more. */
  cancel(): void;
}

/** How far a try had come when it failed. */
export type Progress = {
  /** Whether a byte of the request was written. */
  readonly written: boolean;
  /** Whether a byte of the answer was read. */
  readonly answered: boolean;
  /** Whether the connection had served another request before. */
  readonly reused: boolean;
};

export const NOTHING_SENT: Progress = { written: false, answered: false, reused: false };
