import type { BeaconOutcome, CacheResult } from '../protocol.ts';
import type { FaultOwner } from './fault-owner.ts';
import type { EvaluatedRequest } from './values/evaluated-request.ts';

/** The facts about the request that are available to filters of its response. */
export type FilteredRequest = EvaluatedRequest & {
  /** The target that responded; null for a response of the site itself. */
  readonly endpoint: { readonly address: string } | null;
  /** How the cache handled it; null if it did not. */
  readonly cached: CacheResult | null;
  /** Whether the response is a page for an error of the proxy itself. */
  readonly hasErrorPage: boolean;
  /** Whether the script that measures pages was inserted, or why not; null if the response is not a page, or analytics are off. */
  beacon: BeaconOutcome | null;
};

/** The head of a response, which filters may change before it is sent to the client. */
export type AnswerHead = {
  status: number;
  reason: string;
  /**
   * Whole lines, except those that frame the body. A filter that changes the body adjusts the fields that describe it: ETag,
   * Content-Encoding …
   */
  fields: string;
  /** Bytes of the body, or UNTIL_CLOSE if its length is not known in advance. */
  length: number;
  /** Whether no body follows, even if the head has a length (HEAD, 204, 304); no stage is made then. */
  readonly bodyless: boolean;
};

/** The receiver of a response body: another filter, or the client. */
export interface BodySink {
  /** A piece; its buffer is reused, so copy what you keep. @returns false when the source should pause; its `resume` is called later. */
  body(buffer: Buffer, from: number, to: number): boolean;
  /** No more data is available for now: send what is buffered. */
  flush(): void;
  /** The body is complete. `trailers` are whole lines or empty. */
  end(trailers: string): void;
  /** The body can't be completed: the client must be able to detect the truncation. */
  abort(): void;
}

/** Where the body of a response comes from: the attempt or the previous filter. */
export interface BodySource extends FaultOwner {
  /** The sink can accept more. */
  resume(): void;
}

/** What one filter does with the body of one response. It may pass bytes on later than it got them, even after `end`. */
export interface BodyStage extends BodySink {
  /** The next stage can accept more. */
  resume(): void;
  /** The response is no longer needed: release everything and pass nothing on. */
  cancel(): void;
}

/** Makes a stage between `source` and `next`. Exceptions in a later turn go to `source.onFault`. */
export type StageMaker = (next: BodySink, source: BodySource) => BodyStage;

/** Something that a block does to its responses, compiled when the table is swapped. */
export interface Filter {
  readonly name: string;
  /** Inspects the head of a response and may change it. @returns how the body is changed; null if it is left alone. */
  begin(request: FilteredRequest, head: AnswerHead): StageMaker | null;
  /** A description for `explain` of what it does with responses; absent if `explain` does not mention it. */
  explain?(): string;
}
