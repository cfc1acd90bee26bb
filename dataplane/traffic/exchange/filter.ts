import type { Answerable } from './answerable.ts';

/** What a filter may know of the request that an answer belongs to. */
export type FilteredRequest = {
  readonly method: string;
  readonly host: string;
  /** Decoded, without the query. */
  readonly path: string;
  /** The client's fields, as lines. */
  readonly fields: string;
  readonly secure: boolean;
};

/** The head of an answer on its way to the client, for filters to change. */
export type AnswerHead = {
  status: number;
  reason: string;
  /** Whole lines, but for those that frame the body. A filter that changes the body sees to what they say of it: ETag, Content-Encoding … */
  fields: string;
  /** Bytes of the body, or UNTIL_CLOSE where that is not known before its end. */
  length: number;
  /** Whether no body follows, whatever the head says (HEAD, 204, 304): then no filter has a stage. */
  readonly bodyless: boolean;
};

/** Where the body of an answer goes next: to another filter, or to the client. */
export interface BodySink {
  /** A piece, which is overwritten later: what is kept is copied. @returns false when the sink should be given time; `resume` of its source follows. */
  body(buffer: Buffer, from: number, to: number): boolean;
  /** Nothing more is at hand: what has been gathered should leave. */
  flush(): void;
  /** The body is whole. `trailers` are whole lines or empty. */
  end(trailers: string): void;
  /** The body can't be completed: the client must see that it was cut. */
  abort(): void;
}

/** Where the body of an answer comes from: the attempt, or the filter before. */
export interface BodySource extends Answerable {
  /** The sink can take more. */
  resume(): void;
}

/** What one filter does with the body of one answer. Bytes may leave it later than they came, also after `end`. */
export interface BodyStage extends BodySink {
  /** The next one can take more. */
  resume(): void;
  /** Nobody waits for the answer any more: let go of everything, and pass on nothing. */
  cancel(): void;
}

/** Makes a stage between `source` and `next`. What is thrown in a later turn goes to `source.broke`. */
export type StageMaker = (next: BodySink, source: BodySource) => BodyStage;

/** Something that a block does to its answers on their way back, worked out when the table is swapped. */
export interface Filter {
  readonly name: string;
  /** Looks at the head of an answer and perhaps changes it. @returns how the body is changed; null where it is left alone. */
  begin(request: FilteredRequest, head: AnswerHead): StageMaker | null;
}
