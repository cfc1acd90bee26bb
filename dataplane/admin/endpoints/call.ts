import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request to an endpoint, which has passed all checks: origin, token, limit, path, method. Its body has not been read. */
export type Call = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Decoded, one for each name in braces of the endpoint's path. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
};
